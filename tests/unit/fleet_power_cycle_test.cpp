// When the broker switches a silent board, and that it does.
#include <filesystem>
#include <fstream>
#include <thread>

#include "host/fleet/power_cycle.h"
#include "tests/unit/broker_fixture.h"

namespace fettle::fleet {
namespace {

TEST(PowerCycle, TriesThreeTimesUntilTheBoardIsBack) {
  PowerCycleOptions options;
  ASSERT_TRUE(add_power_cycle(options, "pynq-1=switch off; switch on=now").ok());
  for (const char* bad : {"pynq-1", "=command", "pynq-1="}) {
    EXPECT_FALSE(add_power_cycle(options, bad).ok()) << bad;
  }
  std::vector<std::string> ran;
  PowerCycle power(options, [&](const std::string& board, const std::string& command) {
    ran.push_back(board + ": " + command);
  });
  TimePoint now = TimePoint() + std::chrono::hours(1);
  power.silent("rk3399-1", now);  // no command
  power.silent("pynq-1", now);
  power.silent("pynq-1", now + milliseconds(60'000));  // it is known to be silent
  power.tick(now + milliseconds(119'999));
  EXPECT_TRUE(ran.empty());
  power.tick(now + milliseconds(120'000));
  EXPECT_EQ(ran, std::vector<std::string>{"pynq-1: switch off; switch on=now"});
  power.tick(now + milliseconds(239'999));
  EXPECT_EQ(ran.size(), 1u);
  for (int i = 2; i <= 10; ++i) power.tick(now + i * milliseconds(120'000));
  EXPECT_EQ(ran.size(), 3u);
  power.seen("pynq-1");
  power.silent("pynq-1", now);
  power.tick(now + milliseconds(120'000));
  EXPECT_EQ(ran.size(), 4u) << "another silence is another matter";
}

TEST(PowerCycle, ABoardThatComesBackByItselfIsLeftAlone) {
  PowerCycleOptions options;
  options.patience = milliseconds(5000);
  ASSERT_TRUE(add_power_cycle(options, "pynq-1=switch").ok());
  int ran = 0;
  PowerCycle power(options, [&](const std::string&, const std::string&) { ++ran; });
  TimePoint now = TimePoint() + std::chrono::hours(1);
  power.silent("pynq-1", now);
  power.tick(now + milliseconds(4999));
  power.seen("pynq-1");
  power.tick(now + milliseconds(5000));
  EXPECT_EQ(ran, 0);
  power.silent("pynq-1", now);
  power.tick(now + milliseconds(5000));
  EXPECT_EQ(ran, 1);
}

TEST(PowerCycle, TheCommandRunsInAShellAndKnowsItsBoard) {
  const auto file =
      std::filesystem::temp_directory_path() / ("fettle-power-" + std::to_string(getpid()));
  ASSERT_TRUE(run_detached("pynq-1", "printf '%s reset' \"$FETTLE_BOARD\" >" + file.string()));
  std::string said;
  for (int i = 0; i < 1000 && said != "pynq-1 reset"; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    std::ifstream in(file);
    std::getline(in, said);
  }
  std::filesystem::remove(file);
  EXPECT_EQ(said, "pynq-1 reset");
}

std::string changes(BrokerCore& core) {
  std::string text;
  for (const auto& change : core.take_board_changes()) {
    text += (change.silent ? "-" : "+") + change.name;
  }
  return text;
}

TEST_F(BrokerTest, SaysWhichBoardsCameAndWentSilent) {
  agent("a", 1, "board");
  EXPECT_EQ(changes(core), "+agent");
  pass(milliseconds(999));
  EXPECT_EQ(changes(core), "");
  pass(milliseconds(1));
  EXPECT_EQ(changes(core), "-agent");
  pass(milliseconds(5000));
  EXPECT_EQ(changes(core), "") << "said once";
}

TEST_F(BrokerTest, TheTimeInWhichTheBrokerItselfStoodStillIsNobodysSilence) {
  agent("a", 1, "board");
  client("c", 5);
  pass(milliseconds(500));
  now += milliseconds(60'000);
  core.stood_still(milliseconds(60'000));
  pass(milliseconds(499));
  EXPECT_EQ(changes(core), "+agent");
  pass(milliseconds(1));
  EXPECT_EQ(changes(core), "-agent");
}

TEST_F(BrokerTest, ARestartedAgentIsNoSilentBoard) {
  agent("a", 1, "board");
  agent("b", 2, "board");  // the same key and board, a new process
  EXPECT_EQ(changes(core), "+agent+agent");
  for (int i = 0; i < 20; ++i) {
    pass(milliseconds(100));
    beat("b", kAgent);
  }
  EXPECT_EQ(changes(core), "") << "the old process went, the board did not";
}

}  // namespace
}  // namespace fettle::fleet
