// `fettle-bench host`: what is read out of a session's summary, and scripts for programs.
#include "tests/bench/versions/host_turns.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/bench/versions/work_folder.h"

namespace fettle::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string summary_of(double build_seconds, double best_ns) {
  const Json told = {
      {"event", "summary"},
      {"trials", 10},
      {"trials_per_hour", 36000 / build_seconds},
      {"busy_share", 0.5},
      {"build_ms_median", 20},
      {"stage_seconds", {{"build", build_seconds}, {"features", 0.2}, {"model", 0.1}}},
      {"search", {{"lowered", 120}, {"plans", 5}}},
      {"tasks", {{{"best_ns", best_ns}}, {{"best_ns", nullptr}}}}};
  return R"({"event":"trial"})"
         "\n" +
         told.dump() + "\n";
}

TEST(HostSessions, StagesArePerTrial) {
  const auto session = parse_host_session(summary_of(0.5, 100));
  ASSERT_TRUE(session) << session.error().text();
  EXPECT_DOUBLE_EQ(session->build_ms, 50);
  EXPECT_DOUBLE_EQ(session->host_ms(), 80);
  EXPECT_DOUBLE_EQ(session->lowered, 12);
  EXPECT_EQ(session->best_ns, (std::vector<double>{100, 0}));
  EXPECT_DOUBLE_EQ(kernels_ratio(*session, *parse_host_session(summary_of(1, 50))), 2);
}

TEST(HostSessions, WhatIsNoSummaryIsRefused) {
  EXPECT_FALSE(parse_host_session(""));
  EXPECT_FALSE(parse_host_session("{\"event\":\"trial\"}\n"));
  EXPECT_FALSE(parse_host_session("{\"event\":\"summary\",\"trials\":0}\n"));
}

TEST(HostSessions, BothSidesTuneTheSameByTurns) {
  const auto work = WorkFolder::open("");
  ASSERT_TRUE(work);
  for (const std::string side : {"old", "new"}) {
    const fs::path program = work->path() / side / "fettle";
    fs::create_directories(program.parent_path());
    std::ofstream(program) << "#!/bin/sh\necho \"$1 $2 $7 $9\" "
                              "\"$(basename \"$(dirname \"$FETTLE_AGENT\")\")\" "
                              ">>\"$(dirname \"$0\")/../calls\"\ncat <<'END'\n"
                           << summary_of(side == "old" ? 1 : 0.5, 100) << "END\n";
    fs::permissions(program, fs::perms::owner_all);
  }
  HostTurnsOptions options;
  options.baseline = work->path() / "old";
  options.candidate = work->path() / "new";
  options.networks = {"net"};
  options.trials = 10;
  options.json = true;
  ::testing::internal::CaptureStdout();
  const auto done = run_host_turns(options);
  const Json told = Json::parse(::testing::internal::GetCapturedStdout(), nullptr, false);
  ASSERT_TRUE(done) << done.error().text();
  std::ifstream file(work->path() / "calls");
  std::vector<std::string> calls;
  for (std::string line; std::getline(file, line);) calls.push_back(line);
  EXPECT_EQ(calls, (std::vector<std::string>{"tune net 10 1 old", "tune net 10 1 new",
                                             "tune net 10 2 new", "tune net 10 2 old"}));
  EXPECT_DOUBLE_EQ(told["trials_per_hour"]["times"].get<double>(), 2);
  EXPECT_DOUBLE_EQ(told["build_ms_per_trial"]["candidate"].get<double>(), 50);
  EXPECT_DOUBLE_EQ(told["kernels_geomean"].get<double>(), 1);
}

}  // namespace
}  // namespace fettle::bench
