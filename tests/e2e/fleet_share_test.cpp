// Boards that are reserved, and boards that are checked, by the command line: the real programs,
// two accounts, and a broker that is killed in between.
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/running_program.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

class FleetShareTest : public ::testing::Test {
 protected:
  using Program = std::unique_ptr<RunningProgram>;
  std::map<std::string, std::string> of(const std::string& account) const {
    return {{"FETTLE_HOME", folder.file(account)}, {"FETTLE_AGENT", FETTLE_AGENT_PROGRAM}};
  }
  auto fettle(const std::string& account, std::vector<std::string> words) const {
    words.insert(words.begin(), FETTLE_PROGRAM);
    return run_program(words, seconds(120), of(account));
  }
  auto devices(const std::string& account, std::vector<std::string> words) const {
    words.insert(words.begin(), "devices");
    words.insert(words.end(), {"--broker", url});
    if (account != "alice") words.insert(words.end(), {"--broker-key", broker_key});
    return fettle(account, std::move(words));
  }
  std::string new_key(const std::string& account, const std::string& name) {
    const auto made = fettle(account, {"keys", "new", name});
    EXPECT_EQ(made.status, 0) << made.err;
    return made.out.substr(0, 40);
  }
  void start_broker(const std::string& listen) {
    broker = std::make_unique<RunningProgram>(
        std::vector<std::string>{FETTLE_PROGRAM, "broker", "--listen", listen, "--audit",
                                 folder.file("audit.jsonl")},
        of("alice"));
    ASSERT_TRUE(broker->wait_for_out("public key ", seconds(20))) << broker->err();
    const std::string out = broker->out();
    url = out.substr(out.find("tcp://"));
    url = url.substr(0, url.find('\n'));
    broker_key = out.substr(out.find("public key ") + 11, 40);
  }
  // The broker is alice's, the board is called pynq-3, and bob is a client, too.
  void SetUp() override {
    for (const auto& [name, key, role] :
         {std::tuple{"alice", new_key("alice", "client"), "client"},
          std::tuple{"bob", new_key("bob", "client"), "client"},
          std::tuple{"pynq-3", new_key("alice", "board"), "agent"}}) {
      const auto done = fettle("alice", {"keys", "allow", name, key, "--role", role});
      ASSERT_EQ(done.status, 0) << done.err;
    }
    start_broker("tcp://127.0.0.1:*");
    board = std::make_unique<RunningProgram>(
        std::vector<std::string>{FETTLE_AGENT_PROGRAM, "--broker", url, "--broker-key", broker_key,
                                 "--key-file", folder.file("alice/board.key"), "--key", "bench"},
        of("alice"));
    wait_for_board();
  }
  void wait_for_board() {
    std::string listed;
    for (int i = 0; i < 200; ++i) {
      listed = devices("alice", {}).out;
      if (listed.find("pynq-3") != listed.npos) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    FAIL() << listed << board->err();
  }

  // The log is written beside the broker's work, a moment later.
  bool audited(const std::string& event) {
    for (int i = 0; i < 100; ++i) {
      std::ifstream audit(folder.file("audit.jsonl"));
      const std::string said{std::istreambuf_iterator<char>(audit), {}};
      if (said.find(event) != said.npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

  ScratchFolder folder;
  std::string url, broker_key;
  Program broker, board;
};

TEST_F(FleetShareTest, ABoardIsReservedOverARestartAndReleased) {
  const auto reserved =
      devices("bob", {"reserve", "pynq-3", "--for", "2h", "--note", "for a paper"});
  ASSERT_EQ(reserved.status, 0) << reserved.err;
  EXPECT_NE(reserved.out.find("pynq-3 is yours alone until "), std::string::npos) << reserved.out;
  EXPECT_TRUE(audited("board-reserved"));
  // What was saved last is written a moment later (state_file.h).
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  broker->signal(SIGKILL);
  broker->wait(seconds(10));
  start_broker(url);
  wait_for_board();
  // Kept in whole seconds: a moment of it may not be over yet.
  const auto told = [&](const char* account, const std::string& whose) {
    const std::string listed = devices(account, {}).out;
    EXPECT_TRUE(listed.find("reserved for " + whose + ", 1 h 59 min more (for a paper)") !=
                    std::string::npos ||
                listed.find("reserved for " + whose + ", 2 h more (for a paper)") !=
                    std::string::npos)
        << listed;
  };
  told("bob", "you");
  told("alice", "bob");
  const auto json = nlohmann::json::parse(devices("alice", {"--json"}).out, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["boards"][0]["standing"]["reserved"]["for"], "bob");
  EXPECT_EQ(json["boards"][0]["standing"]["name"], "pynq-3");

  const auto refused = fettle("alice", {"tune", "resnet-18", "--trials", "1", "--device", "bench",
                                        "--broker", url, "--db", folder.file("r.db")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("'pynq-3' is reserved for 'bob'"), std::string::npos) << refused.err;
  const auto not_hers = devices("alice", {"release", "pynq-3"});
  EXPECT_EQ(not_hers.status, 1);
  EXPECT_NE(not_hers.err.find("'pynq-3' is reserved for 'bob'"), std::string::npos) << not_hers.err;
  const auto unchecked = devices("alice", {"check"});
  EXPECT_EQ(unchecked.status, 1) << "a night without any check is no good night";
  EXPECT_NE(unchecked.out.find("not checked: reserved for bob"), std::string::npos)
      << unchecked.out << unchecked.err;

  EXPECT_EQ(devices("alice", {"release", "pynq-3", "--as-owner"}).status, 0)
      << "the broker is hers";
  EXPECT_EQ(devices("alice", {}).out.find("reserved"), std::string::npos);
  for (const char* event : {"reservation-refused", "board-released"}) {
    EXPECT_TRUE(audited(event)) << event;
  }
}

TEST_F(FleetShareTest, WhatCannotBeReservedIsRefused) {
  const auto refused = [&](std::vector<std::string> words, int status, const std::string& why) {
    const auto done = devices("bob", std::move(words));
    EXPECT_EQ(done.status, status) << done.err;
    EXPECT_NE(done.err.find(why), std::string::npos) << done.err;
  };
  refused({"reserve", "pynq-4", "--for", "2h"}, 1, "no board is called 'pynq-4'");
  refused({"reserve", "pynq-3", "--for", "8d"}, 1, "7 d at most");
  refused({"reserve", "pynq-3", "--for", "soon"}, 2, "is no time");
  refused({"reserve", "pynq-3"}, 2, "--for");
  refused({"reserve", "pynq-3", "--for", "1h", "--note", std::string(300, 'x')}, 1, "200");
  refused({"release", "pynq-3"}, 1, "is not reserved");
}

TEST_F(FleetShareTest, BoardsAreCheckedAndComparedWithTheirLastChecks) {
  std::string history = folder.file("alice/device_checks.jsonl"), kernel, id;
  double ns = 0;
  for (int night = 0; night < 2; ++night) {
    const auto checked = devices("alice", {"check", "--json"});
    ASSERT_EQ(checked.status, 0) << checked.out << checked.err << board->err();
    const auto json = nlohmann::json::parse(checked.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << checked.out;
    EXPECT_EQ(json["name"], "pynq-3");
    EXPECT_EQ(json["checked"], true);
    EXPECT_EQ(json["bad"], false);
    EXPECT_EQ(json["result"], "ok");
    EXPECT_FALSE(json.contains("of_siblings")) << "it has none";
    ns = json["ns"];
    EXPECT_GT(ns, 0);
  }
  std::ifstream in(history);
  std::string line;
  int lines = 0;
  while (std::getline(in, line)) {
    ++lines;
    const auto time = nlohmann::json::parse(line);
    kernel = time["kernel"];
    id = time["board"];
  }
  EXPECT_EQ(lines, 2);
  // A board that was ten times as fast in the nights before is bad now.
  std::ofstream out(history);
  for (int i = 0; i < 3; ++i) {
    out << nlohmann::json{{"unix_s", i},
                          {"board", id},
                          {"device", 0},
                          {"kernel", kernel},
                          {"ns", ns / 10}}
               .dump()
        << "\n";
  }
  out.close();
  const auto bad = devices("alice", {"check"});
  EXPECT_EQ(bad.status, 1) << bad.out;
  EXPECT_NE(bad.out.find("slower than in its last checks"), std::string::npos) << bad.out;
  EXPECT_NE(bad.err.find("1 of 1 devices are bad"), std::string::npos) << bad.err;
}

}  // namespace
}  // namespace fettle::testing
