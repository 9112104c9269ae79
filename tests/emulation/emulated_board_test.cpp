// Whole boards under qemu-system: from power-on to a registered agent, as
// `./dev emulate BOARD --check` does it. Skips where the board's image has not been
// made: that takes minutes and downloads a kernel.
#include <gtest/gtest.h>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>

#include "tests/support/running_program.h"

namespace fettle {
namespace {

using testing::run_program;

const std::string kFolder = FETTLE_BOARD_IMAGES;

// Image, agent and emulator of the board; nothing here makes or installs them.
bool can_emulate(const std::string& board) {
  const bool pynq = board == "pynq";
  return run_program({kFolder + "/image.sh", board, "--print"}).status == 0 &&
         std::filesystem::exists(std::string(FETTLE_AGENTS) +
                                 (pynq ? "/armv7/fettle-agent" : "/aarch64/fettle-agent")) &&
         run_program({"which", pynq ? "qemu-system-arm" : "qemu-system-aarch64"}).status == 0;
}

class EmulatedBoard : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string board = GetParam();
    if (!can_emulate(board)) {
      GTEST_SKIP() << "no image, agent or emulator of the " << board << ": `./dev emulate " << board
                   << " --check` brings them";
    }
  }
  testing::ProgramResult emulate(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {kFolder + "/qemu/emulate.sh", GetParam()});
    return run_program(arguments, std::chrono::seconds(150),
                       {{"FETTLE_PROGRAM", FETTLE_PROGRAM},
                        {"FETTLE_AGENT_FOLDER", FETTLE_AGENTS},
                        {"FETTLE_SANDBOX_CHECK", FETTLE_SANDBOX_CHECK}});
  }
};

// qemu-user has no seccomp; here the strict policy is proved.
TEST_P(EmulatedBoard, RegistersWithItsFactsAndKillsForbiddenCandidates) {
  const auto done = emulate({"--check-sandbox", "--name", "test-board", "--key", "some-key"});
  ASSERT_EQ(done.status, 0) << done.out << done.err;
  for (const char* words :
       {"test-board registered as \"some-key\"", "some-key (emulated) on test-board", "QEMU",
        "nanoseconds of an emulator", "sandbox    strict",
        "yes: a candidate that opens /etc/passwd: SandboxViolation",
        "yes: a candidate that opens /dev/mem: SandboxViolation",
        "yes: a candidate that makes a socket: SandboxViolation",
        "yes: a candidate that signals another process: SandboxViolation",
        "yes: a candidate that hands a descriptor's signals on: Sandbox",
        "yes: a candidate that crashes: Crash", "yes: a candidate that aborts: Crash, aborted",
        "yes: a candidate that never ends: RunTimeout",
        "yes: a candidate that does nothing forbidden: measured"}) {
    EXPECT_NE(done.out.find(words), std::string::npos) << words << " not in\n" << done.out;
  }
  const char* core = std::string(GetParam()) == "pynq" ? "cortex-a9" : "cortex-a72";
  EXPECT_NE(done.out.find(core), std::string::npos) << done.out;
}

TEST_P(EmulatedBoard, CountsInstructionsWhereAsked) {
  const auto done = emulate({"--check", "--icount"});
  ASSERT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_NE(done.out.find("executed instructions, no time"), std::string::npos) << done.out;
  EXPECT_EQ(done.out.find("nanoseconds"), std::string::npos) << done.out;
}

TEST_P(EmulatedBoard, SaysWhatIsWrongWithAnOption) {
  const auto none = emulate({});
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("--check, or --broker"), std::string::npos) << none.err;
  const auto unknown = emulate({"--check", "--fast"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.err.find("unknown option '--fast'"), std::string::npos) << unknown.err;
  const auto fpga = emulate({"--check", "--fpga", "--icount"});
  EXPECT_EQ(fpga.status, 1);
  EXPECT_NE(fpga.err.find(std::string(GetParam()) == "pynq" ? "without --icount" : "has no FPGA"),
            std::string::npos)
      << fpga.err;
}

// A broker, and an emulated RK3399 that has registered with it.
class EmulatedSession : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_emulate("rk3399")) {
      GTEST_SKIP() << "no image, agent or emulator: `./dev emulate rk3399 --check` brings them";
    }
  }
  void start(const std::vector<std::string>& broker_options) {
    const auto client = fettle({"keys", "new", "client"});
    ASSERT_EQ(fettle({"keys", "allow", "me", client.out.substr(0, 40)}).status, 0);
    std::vector<std::string> words{FETTLE_PROGRAM, "broker", "--listen", "tcp://127.0.0.1:*"};
    words.insert(words.end(), broker_options.begin(), broker_options.end());
    broker = std::make_unique<testing::RunningProgram>(words, environment);
    ASSERT_TRUE(broker->wait_for_out("public key ", std::chrono::seconds(20))) << broker->err();
    url = broker->out().substr(broker->out().find("tcp://"));
    url = url.substr(0, url.find('\n'));
    board = std::make_unique<testing::RunningProgram>(
        std::vector<std::string>{kFolder + "/qemu/emulate.sh", "rk3399", "--broker", url, "--name",
                                 "rk3399-1", "--pid-file", folder.file("pid"), "--for", "200"},
        environment);
    ASSERT_TRUE(board->wait_for_out("registered as \"rk3399\"", std::chrono::seconds(100)))
        << board->out() << board->err();
  }
  testing::ProgramResult fettle(std::vector<std::string> words, int seconds = 30) const {
    words.insert(words.begin(), FETTLE_PROGRAM);
    return run_program(words, std::chrono::seconds(seconds), environment);
  }
  void stop() {
    board->signal(SIGTERM);
    EXPECT_EQ(board->wait(std::chrono::seconds(10)), 130);
  }

  testing::ScratchFolder folder;
  std::map<std::string, std::string> environment = {{"FETTLE_HOME", folder.file("home")},
                                                    {"FETTLE_PROGRAM", FETTLE_PROGRAM},
                                                    {"FETTLE_AGENT_FOLDER", FETTLE_AGENTS}};
  std::unique_ptr<testing::RunningProgram> broker, board;
  std::string url;
};

// A machine that hangs is silent; the broker's power-cycle command brings it back.
TEST_F(EmulatedSession, ASilentBoardIsSwitchedOffAndOn) {
  ASSERT_NO_FATAL_FAILURE(
      start({"--power-cycle", "rk3399-1=kill -USR1 $(cat " + folder.file("pid") + ")",
             "--power-cycle-after", "15"}));
  const auto machines = testing::descendants(board->pid(), "qemu-system");
  ASSERT_EQ(machines.size(), 1u);
  kill(machines[0], SIGSTOP);
  // The broker gives it up after ten seconds, and switches it fifteen seconds later: longer than
  // it takes to boot, when it is as silent.
  ASSERT_TRUE(board->wait_for_out("was switched off and on", std::chrono::seconds(60)))
      << board->out() << broker->err();
  std::string devices;
  for (int i = 0; i < 120 && devices.find("\"total\":1") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    devices = fettle({"devices", "--broker", url, "--json"}).out;
  }
  EXPECT_NE(devices.find("\"hostname\":\"rk3399-1\""), std::string::npos) << devices;
  stop();
}

// A DAG that no operator of fettle's wrote; and the GPU, whose driver is not there, is no device.
TEST_F(EmulatedSession, TunesAnOperatorOfItsUser) {
  ASSERT_NO_FATAL_FAILURE(start({}));
  const auto devices = fettle({"devices", "--broker", url, "--json"});
  EXPECT_NE(devices.out.find("rk3399"), std::string::npos) << devices.out;
  EXPECT_EQ(devices.out.find("rk3399-mali"), std::string::npos) << devices.out;
  const auto tuned =
      fettle({"tune", FETTLE_OWN_OPERATOR, "--broker", url, "--device", "rk3399 (emulated)",
              "--trials", "6", "--db", folder.file("own.db"), "--json"},
             150);
  ASSERT_EQ(tuned.status, 0) << tuned.err << board->out();
  const auto best = fettle({"records", "best", "--db", folder.file("own.db"), "--json"});
  EXPECT_NE(best.out.find("with swish"), std::string::npos) << best.out << tuned.err;
  stop();
}

// Through static fettle-run, as an exported library in a plain C program, through the agent.
TEST(EmulatedNetwork, ThreeWaysOneAnswer) {
  if (!can_emulate("rk3399") ||
      !std::filesystem::exists(std::string(FETTLE_AGENTS) + "/aarch64/fettle-run") ||
      run_program({"which", "aarch64-linux-gnu-gcc"}).status != 0) {
    GTEST_SKIP() << "no image, agent, fettle-run, compiler or emulator: `./dev emulate rk3399 "
                    "--check-network` brings them";
  }
  const auto done =
      run_program({kFolder + "/qemu/check_network.sh", "rk3399", "--network", "squeezenet-1.1"},
                  std::chrono::seconds(300),
                  {{"FETTLE_PROGRAM", FETTLE_PROGRAM}, {"FETTLE_AGENT_FOLDER", FETTLE_AGENTS}});
  ASSERT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_EQ(done.out.find("NO: "), std::string::npos) << done.out;
  for (const char* words : {"yes: fettle-run: within 1e-4", "yes: library: within 1e-4",
                            "yes: agent: within 1e-4", "yes: the library's bits are fettle-run's",
                            "yes: the agent's bits are fettle-run's", "emulated"}) {
    EXPECT_NE(done.out.find(words), std::string::npos) << words << " not in\n" << done.out;
  }
}

TEST(EmulatedFleet, FourDevicesOfThreeKeys) {
  for (const char* board : {"rk3399", "pynq"}) {
    if (!can_emulate(board)) {
      GTEST_SKIP() << "no image, agent or emulator: `./dev emulate --fleet --check` brings them";
    }
  }
  const auto done =
      run_program({kFolder + "/qemu/fleet.sh", "--check"}, std::chrono::seconds(150),
                  {{"FETTLE_PROGRAM", FETTLE_PROGRAM}, {"FETTLE_AGENT_FOLDER", FETTLE_AGENTS}});
  ASSERT_EQ(done.status, 0) << done.out << done.err;
  for (const char* words : {"local on ", "pynq (emulated) on pynq-1", "pynq (emulated) on pynq-2",
                            "rk3399 (emulated) on rk3399-1"}) {
    EXPECT_NE(done.out.find(words), std::string::npos) << words << " not in\n" << done.out;
  }
}

INSTANTIATE_TEST_SUITE_P(Boards, EmulatedBoard, ::testing::Values("rk3399", "pynq"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace fettle
