// `fettle-bench boards` itself, briefly: both boards have their trials, and nothing is left of it.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/running_program.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    lines.push_back(Json::parse(line, nullptr, false));
  }
  return lines;
}

std::vector<std::string> boards(const std::vector<std::string>& more) {
  std::vector<std::string> words = {FETTLE_BENCH, "boards", "--network", FETTLE_LAYERS, "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(BoardsProgram, BothBoardsHaveTheirTrials) {
  const auto ran = testing::run_program(boards({"--boards", "2", "--trials", "10", "--gate", "0"}),
                                        seconds(120));
  ASSERT_EQ(ran.status, 0) << ran.err;
  const std::vector<Json> lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), 4u) << ran.out;
  std::size_t trials = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const Json& board = lines[i];
    EXPECT_EQ(board["board"], i + 1);
    EXPECT_GT(board["trials"], 0);
    trials += board["trials"].get<std::size_t>();
    EXPECT_EQ(board["failed"], 0);
    EXPECT_LE(board["busy_share"], 1.0);
    EXPECT_GE(board["kernel_ms_median"], 5.0);
    EXPECT_LE(board["kernel_ms_median"], 5.5);
    // The one checked, the warm-up and two samples at least.
    EXPECT_GE(board["trial_ms_median"], 20.0);
  }
  const Json& run = lines[2];
  EXPECT_EQ(run["trials"], 20);
  EXPECT_EQ(trials + run["elsewhere"].get<std::size_t>(), 20u);
  EXPECT_EQ(run["least_busy_share"],
            std::min(lines[0]["busy_share"].get<double>(), lines[1]["busy_share"].get<double>()));
  for (const char* figure :
       {"trials_per_hour", "builds_per_second", "session_cpu_seconds", "boards_cpu_seconds",
        "build_ms_median", "build_seconds", "planning_seconds", "feature_seconds"}) {
    EXPECT_GT(run[figure], 0) << figure;
  }
  EXPECT_GE(run["thought"], 0.5);
  EXPECT_LE(run["thought"], 1);
  EXPECT_EQ(lines[3]["summary"], true);
  EXPECT_EQ(lines[3]["most_boards"], 2);
}

TEST(BoardsProgram, AGateThatIsMissedIsAnError) {
  const auto ran =
      testing::run_program(boards({"--boards", "1", "--trials", "3", "--gate", "1"}), seconds(60));
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.err.find("in no run every board was busy"), std::string::npos) << ran.err;
  EXPECT_EQ(lines_of(ran.out).size(), 3u) << ran.out;
}

TEST(BoardsProgram, WhatTheSessionSaysIsTold) {
  const auto ran = testing::run_program(
      {FETTLE_BENCH, "boards", "--boards", "1", "--network", "no-such-network"}, seconds(60));
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.err.find("no-such-network"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("feeding simulated boards, 1 of them"), std::string::npos) << ran.err;
}

TEST(BoardsProgram, CtrlCEndsEverything) {
  testing::RunningProgram bench(boards({"--boards", "2", "--trials", "100000"}));
  // Words of a command line end in zeros.
  const std::string session("tune\0", 5), broker("broker\0", 7), board("simulated-board\0", 16);
  for (int i = 0; i < 600 && testing::descendants(bench.pid(), session).empty(); ++i) {
    usleep(50'000);
  }
  std::vector<pid_t> all;
  for (const std::string& name : {session, broker, board}) {
    const auto found = testing::descendants(bench.pid(), name);
    EXPECT_FALSE(found.empty()) << name;
    all.insert(all.end(), found.begin(), found.end());
  }
  bench.signal(SIGINT);
  EXPECT_EQ(bench.wait(seconds(30)), 1) << bench.err();
  EXPECT_NE(bench.err().find("interrupted"), std::string::npos) << bench.err();
  for (pid_t pid : all) {
    bool gone = false;
    for (int i = 0; i < 100 && !gone; ++i) {
      gone = ::kill(pid, 0) != 0;
      if (!gone) usleep(50'000);
    }
    EXPECT_TRUE(gone) << pid;
  }
}

}  // namespace
}  // namespace fettle::bench
