// What `fettle flash` refuses, and how it installs over SSH.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/unit/command_line.h"

namespace fettle::testing {
namespace {

TEST_F(CommandLine, FlashRefusesWhatIsNoCard) {
  const auto image = write("board.img", "an image");
  expect_error(fettle({"flash", "--image", image, "--to", folder.file("absent")}), 1, {"absent"});
  expect_error(fettle({"flash", "--image", image, "--to", image}), 1, {"is no disk", "lsblk"});
  expect_error(fettle({"flash", "--image", image, "--to", "/dev/null"}), 1, {"is no disk"});
  // A check is dropped by its name.
  for (const std::string force : {"--force", "--force=all"}) {
    expect_error(fettle({"flash", "--image", image, "--to", "/dev/null", force}), 2, {"--force"});
  }
}

TEST_F(CommandLine, FlashTakesNoOptionOfSshWithAnImage) {
  const auto image = write("board.img", "an image");
  for (const std::string option : {"--broker", "--board-broker", "--broker-key", "--package",
                                   "--name", "--key", "--set", "--ssh-command", "--wait"}) {
    SCOPED_TRACE(option);
    const std::string value = option == "--broker-key" ? std::string(40, '0') : "9";
    expect_error(fettle({"flash", "--image", image, "--to", image, option, value}), 2,
                 {option + " requires --ssh"});
  }
}

class FlashOverSsh : public CommandLine {
 protected:
  void SetUp() override {
    for (const char* name : {"client", "pynq-1", "pynq-2"}) {
      ASSERT_EQ(fettle({"keys", "new", name}).status, 0);
    }
    ASSERT_EQ(fettle({"keys", "allow", "me", public_key("client")}).status, 0);
    // Agents of this machine say that they are one board, whichever board they stand for.
    ASSERT_EQ(
        fettle({"keys", "allow", "pynq-1", public_key("pynq-1"), "--role", "agent", "--board", "*"})
            .status,
        0);
    broker = std::make_unique<RunningProgram>(
        std::vector<std::string>{FETTLE_PROGRAM, "broker", "--listen", "tcp://127.0.0.1:*"},
        std::map<std::string, std::string>{{"FETTLE_HOME", folder.file("home")}});
    url = url_of(*broker);
  }
  ProgramResult install(const std::string& ssh, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"flash", "--ssh",         "root@board", "--broker",
                                      url,     "--ssh-command", ssh};
    words.insert(words.end(), more.begin(), more.end());
    return fettle(words);
  }
  // What an agent of that key is started with; it has this machine's host name.
  std::vector<std::string> agent(const std::string& name) {
    return {FETTLE_AGENT_PROGRAM,
            "--broker",
            url,
            "--broker-key",
            public_key("broker"),
            "--key-file",
            folder.file("home/" + name + ".key"),
            "--key",
            "null",
            "--device-kind",
            "null"};
  }
  std::unique_ptr<RunningProgram> broker;
  std::string url;
};

TEST_F(FlashOverSsh, SaysWhatFailed) {
  expect_error(fettle({"flash", "--ssh", "root@board"}), 2, {"--broker"});
  expect_error(fettle({"flash"}), 2, {"--image", "--ssh"});
  expect_error(install("false"), 1, {"ssh root@board", "exit status 1"});
  expect_error(install(folder.file("absent")), 1, {"absent"});
  // The broker is asked first: nothing is installed that could not be seen to register.
  expect_error(fettle({"flash", "--ssh", "root@board", "--broker", "tcp://no port", "--ssh-command",
                       "false"}),
               1, {"tcp://no port"});
  // A board of an architecture for which there is no package.
  const auto board = write("ssh", "#!/bin/sh\nprintf 'vax\\nold-board\\n'\n");
  expect_error(install("sh " + board), 1, {"for vax", "./dev packages"});
  EXPECT_EQ(fettle({"keys", "list"}).out.find("old-board"), std::string::npos);
}

TEST_F(FlashOverSsh, ASecondBoardOfAHostNameIsNeitherTheFirstNorInItsPlace) {
  const std::string package = write("agent.deb", "a package");
  char hostname[256] = {};
  ASSERT_EQ(::gethostname(hostname, sizeof hostname - 1), 0);
  RunningProgram first(agent("pynq-1"));
  bool listed = false;
  for (int i = 0; i < 100 && !listed; ++i) {
    listed = fettle({"devices", "--broker", url}).out.find(hostname) != std::string::npos;
  }
  ASSERT_TRUE(listed) << first.err();
  // Stands for ssh and the second board: it keeps what is installed on it, has a key from
  // then on, and starts its agent as `starts` says.
  const auto ssh = [&](const std::string& starts, const std::string& self_test = ":") {
    const std::string installed = folder.file("installed"), key = public_key("pynq-2");
    return "sh " + write("ssh",
                         "case $2 in\n"
                         "*--install*) cat >" +
                             installed + "; echo '" + key +
                             "' ;;\n"
                             "*print-architecture*) printf 'armhf\\n" +
                             hostname +
                             "\\n'\n"
                             "  if [ -e " +
                             installed + " ]; then echo '" + key +
                             "'; fi ;;\n"
                             "*--self-test*) " +
                             self_test +
                             " ;;\n"
                             "*'systemctl start'*) " +
                             starts +
                             " ;;\n"
                             "*) cat >" +
                             folder.file("agent.toml") + " ;;\nesac\n");
  };
  expect_error(install(ssh(":"), {"--name", "pynq-1", "--package", package}), 1,
               {"'pynq-1' is allowed already with another key", "fettle keys revoke pynq-1"});
  EXPECT_FALSE(std::filesystem::exists(folder.file("installed")));

  // Its kernel cannot hold candidates: that is asked about, and here nobody answers.
  const std::string no_sandbox =
      "echo 'Unsupported: no seccomp: start it with --allow-unsandboxed'";
  const auto unanswered = install(ssh(":", no_sandbox), {"--name", "pynq-2", "--package", package});
  expect_error(unanswered, 1, {"no seccomp", "refuses to run them"});
  EXPECT_NE(unanswered.err.find("Run candidates there all the same?"), std::string::npos)
      << unanswered.err;
  EXPECT_FALSE(std::filesystem::exists(folder.file("agent.toml")));
  expect_error(install(ssh(":", no_sandbox), {"--name", "pynq-2", "--package", package, "--wait",
                                              "1", "--allow-unsandboxed"}),
               1, {"did not register"});
  std::ifstream configured(folder.file("agent.toml"));
  const std::string settings(std::istreambuf_iterator<char>(configured), {});
  EXPECT_NE(settings.find("\nallow-unsandboxed = true\n"), std::string::npos) << settings;

  // Its agent does not come up; the first board's, of the same host name, is not it.
  expect_error(install(ssh(":"), {"--name", "pynq-2", "--package", package, "--wait", "1"}), 1,
               {"did not register", "within 1 s"});
  EXPECT_TRUE(std::filesystem::exists(folder.file("installed")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("agent.toml")));

  ASSERT_EQ(fettle({"keys", "allow", "pynq-2", public_key("pynq-2"), "--board", "*"}).status, 0);
  std::string start;
  for (const std::string& word : agent("pynq-2")) start += "'" + word + "' ";
  const std::string pid_file = folder.file("pid");
  const auto done = install(ssh(start + ">/dev/null 2>&1 & echo $! >" + pid_file),
                            {"--package", package, "--wait", "30"});
  pid_t second = 0;
  std::ifstream(pid_file) >> second;
  if (second > 0) ::kill(second, SIGTERM);
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("allowed as \"pynq-2\""), std::string::npos)
      << "its key's name of before, not the host name: " << done.out;
  EXPECT_GT(second, 0);
}

}  // namespace
}  // namespace fettle::testing
