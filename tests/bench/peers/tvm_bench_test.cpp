// What `fettle-bench tvm` does without TVM: answers, arithmetic, and the whole of it beside a
// stand-in (stand_in_tuner.py). FETTLE_TVM_PYTHON names a Python that has TVM, which is tried then
// as well.
#include "tests/bench/peers/tvm_bench.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/bench/kernels/crowded_core.h"
#include "tests/bench/peers/tvm_figures.h"
#include "tests/support/running_program.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;
using testing::run_program;

TEST(TvmAnswers, ATuneIsRead) {
  const auto told =
      parse_tvm_tune(R"({"seconds": 120.5, "trials": 64, "failed": 3, "best_ns": 2500})");
  ASSERT_TRUE(told.ok()) << told.error().text();
  EXPECT_EQ(told->trials, 64u);
  EXPECT_EQ(told->failed, 3u);
  EXPECT_DOUBLE_EQ(told->told_ns, 2500);
  EXPECT_DOUBLE_EQ(told->per_hour(), 64 / 120.5 * 3600);
}

TEST(TvmAnswers, WhatIsNoneIsRefused) {
  const auto refused = parse_tvm_tune(R"({"refused": "none of 64 trials gave a time"})");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_NE(refused.error().text().find("none of 64 trials"), std::string::npos);
  for (const char* line : {"", "[]", "TVM says something", R"({"trials": 64})",
                           R"({"seconds": 1, "trials": 64, "failed": 0, "best_ns": "fast"})",
                           R"({"seconds": -1, "trials": 64, "failed": 0, "best_ns": 1})",
                           R"({"seconds": 1, "trials": 0, "failed": 0, "best_ns": 1})"}) {
    const auto none = parse_tvm_tune(line);
    ASSERT_FALSE(none.ok()) << line;
    EXPECT_EQ(none.error().code, ErrorCode::Malformed) << line;
  }
}

TunedLayer tuned(double our_ns, double tvm_ns, double our_seconds, double tvm_seconds) {
  TunedLayer layer;
  layer.ours = {our_seconds, 64, 1, 0, our_ns};
  layer.theirs = {tvm_seconds, 64, 2, 0, tvm_ns};
  layer.kernels.title = "a";
  layer.kernels.operations = 1000;
  layer.kernels.ours.nanoseconds = layer.kernels.ours.firsts = {our_ns};
  PeerFigures& peer = layer.kernels.peers.emplace_back();
  peer.name = "tvm";
  peer.timing.nanoseconds = peer.timing.firsts = {tvm_ns};
  return layer;
}

TEST(TvmFigures, RatiosAreOfKernelsAndOfTrialsPerHour) {
  std::vector<TunedLayer> layers = {tuned(100, 400, 10, 160), tuned(100, 100, 10, 40),
                                    tuned(100, 900, 10, 80)};
  layers[2].kernels.peers[0].absent = "its output holds NaN";
  const TunedSummary summary = summarise(layers);
  EXPECT_EQ(summary.layers, 3u);
  EXPECT_EQ(summary.compared, 2u);
  EXPECT_NEAR(summary.kernel_ratio, 2, 1e-12);
  EXPECT_NEAR(summary.trials_ratio, std::cbrt(16 * 4 * 8), 1e-9);
  const Json one = to_json(layers[0]), wrong = to_json(layers[2]);
  EXPECT_DOUBLE_EQ(one["ratio"], 4);
  EXPECT_DOUBLE_EQ(one["fettle"]["gflops"], 10);
  EXPECT_DOUBLE_EQ(one["tvm"]["gflops"], 2.5);
  EXPECT_DOUBLE_EQ(one["tvm"]["trials_per_hour"], 1440);
  EXPECT_FALSE(wrong.contains("ratio"));
  EXPECT_EQ(wrong["tvm"]["absent"], "its output holds NaN");
  EXPECT_FALSE(to_json(summarise(std::vector<TunedLayer>{})).contains("geomean_ratio"));
}

// 48 of 64 were measured.
TEST(TvmFigures, TrialsThatMeasuredNothingAreInNoRate) {
  const auto told = parse_fettle_tune(
      "{\"event\":\"trial\"}\n"
      R"({"event":"summary","trials":64,"tasks":[{"trials":64,"failed":3,"reused":16}]})"
      "\n");
  ASSERT_TRUE(told.ok()) << told.error().text();
  TunedLayer layer = tuned(100, 400, 10, 160);
  layer.ours = *told;
  layer.ours.seconds = 10;
  EXPECT_DOUBLE_EQ(layer.ours.per_hour(), 48 * 360);
  EXPECT_DOUBLE_EQ(layer.trials_ratio(), 12);
  const Json line = to_json(layer);
  EXPECT_EQ(line["fettle"]["trials"], 64);
  EXPECT_EQ(line["fettle"]["failed"], 3);
  EXPECT_EQ(line["fettle"]["reused"], 16);
  EXPECT_DOUBLE_EQ(line["fettle"]["trials_per_hour"], 48 * 360);
  EXPECT_EQ(line["tvm"]["reused"], 0);
  for (const char* none : {"", "{}", "fettle: no such device", R"({"tasks":[{"trials":64}]})",
                           R"({"tasks":[{"trials":4,"failed":0,"reused":4}]})"}) {
    EXPECT_EQ(parse_fettle_tune(none).error().code, ErrorCode::Malformed) << none;
  }
}

// The script's own parts, which import no TVM.
TEST(TvmScript, FailuresAreNoTimes) {
  const std::filesystem::path script = FETTLE_TVM_SCRIPT;
  const auto ran =
      run_program({"python3", "-c",
                   "import sys; sys.path.insert(0, sys.argv[1])\n"
                   "import tvm_meta_schedule as t\n"
                   "print(t.best_of([[1e10], [2e-3, 4e-3], [], [5e-3]]), t.best_of([[1e10]]))\n"
                   "layer = dict(input=[1, 9, 8, 4], weight=[3, 3, 4, 6], output=[1, 5, 4, 6],\n"
                   "             stride=[2, 2], padding=[1, 1], dilation=[1, 1])\n"
                   "t.check_layer(layer)\n"
                   "for wrong in (dict(output=[1, 4, 4, 6]), dict(input=[1, 9, 8, 8]), "
                   "dict(input=[9, 8, 4])):\n"
                   "    try: t.check_layer({**layer, **wrong})\n"
                   "    except t.Refused as why: print(why)\n",
                   script.parent_path().string()});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "(0.003, 2) (inf, 0)\n"
            "an output of [1, 5, 4, 6] was expected, not [1, 4, 4, 6]\n"
            "no grouped convolutions here\n"
            "no convolution of images: input has 3 axes\n");
}

TEST(TvmScript, APythonWithoutTvmIsSaidSo) {
  if (run_program({"python3", "-c", "import tvm"}).status == 0) GTEST_SKIP() << "python3 has TVM";
  const auto none = TvmProcess::start("python3", 1);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::Unsupported);
  EXPECT_NE(none.error().text().find("runs no TVM: ModuleNotFoundError"), std::string::npos)
      << none.error().text();
}

constexpr const char* kLayer = R"({"op":"conv2d","height":6,"width":5,"in_channels":4,
  "out_channels":8,"kernel":[3,3],"stride":[2,1],"pad":[1,1],"tail":["bias","relu"]})";

class TvmProgram : public ::testing::Test {
 protected:
  // `python`: what is run in the place of one that has TVM.
  testing::ProgramResult run(const std::string& python, const std::string& fault = "") {
    std::ofstream(folder_.file("list.json")) << kLayer;
    return run_program(
        {FETTLE_BENCH_PROGRAM, "tvm", "--json", "--python", python, "--network",
         folder_.file("list.json"), "--trials", "4", "--rounds", "2", "--sample-ms", "0.1"},
        std::chrono::seconds(1200),
        {{"FETTLE_AGENT", FETTLE_AGENT_PROGRAM}, {"STAND_IN_FAULT", fault}});
  }
  std::string stand_in() {
    const std::string python = folder_.file("python");
    std::ofstream(python) << "#!/bin/sh\nexec python3 " FETTLE_STAND_IN "\n";
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    return python;
  }
  static std::vector<Json> lines_of(const std::string& text) {
    std::vector<Json> lines;
    std::istringstream all(text);
    for (std::string line; std::getline(all, line);) lines.push_back(Json::parse(line));
    return lines;
  }
  static void expect_compared(const testing::ProgramResult& ran) {
    ASSERT_EQ(ran.status, 0) << ran.err;
    const std::vector<Json> lines = lines_of(ran.out);
    ASSERT_EQ(lines.size(), 2u) << ran.out;
    const Json &layer = lines[0], &summary = lines[1];
    EXPECT_EQ(layer["fettle"]["trials"], 4);
    EXPECT_EQ(layer["tvm"]["trials"], 4);
    const Json& ours = layer["fettle"];
    EXPECT_DOUBLE_EQ(ours["trials_per_hour"],
                     (4.0 - ours["reused"].get<double>()) / ours["seconds"].get<double>() * 3600);
    EXPECT_NEAR(
        layer["ratio"].get<double>(),
        layer["tvm"]["ns_median"].get<double>() / layer["fettle"]["ns_median"].get<double>(), 1e-9);
    EXPECT_EQ(summary["compared"], 1);
    EXPECT_DOUBLE_EQ(summary["geomean_ratio"], layer["ratio"]);
    EXPECT_EQ(summary["threads"], 1);
    EXPECT_NE(summary["commit"], "");
  }
  testing::ScratchFolder folder_;
};

TEST_F(TvmProgram, TunesAndTimesBoth) {
  const auto ran = run(stand_in());
  expect_compared(ran);
  const Json layer = lines_of(ran.out).at(0);
  EXPECT_DOUBLE_EQ(layer["tvm"]["ns_median"], 5000);
  EXPECT_DOUBLE_EQ(layer["tvm"]["trials_per_hour"], 160);
  EXPECT_EQ(layer["tvm"]["failed"], 1);
}

// Its own, not this process's.
TEST_F(TvmProgram, ItsPeerTellsWhatInterruptsIt) {
  setenv("STAND_IN_FAULT", "busy", 1);
  CrowdedCore crowded;
  auto tvm = TvmProcess::start(stand_in(), 1);
  unsetenv("STAND_IN_FAULT");
  ASSERT_TRUE(tvm.ok()) << tvm.error().text();
  crowded.leave();
  const auto layer = make_layer(*space::Workload::parse(std::string(kLayer)));
  ASSERT_TRUE(layer.ok()) << layer.error().text();
  const NamedPeer peer = (*tvm)->peer(*layer);
  ASSERT_TRUE(peer.made.ok());
  EXPECT_GE(interruptions_meanwhile(**peer.made), kManyInterruptions);
}

TEST_F(TvmProgram, AWrongAnswerIsNoRatio) {
  const auto ran = run(stand_in(), "wrong");
  EXPECT_EQ(ran.status, 1);
  EXPECT_NE(ran.err.find("1 of 1 layers could not be compared"), std::string::npos) << ran.err;
  const std::vector<Json> lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), 2u) << ran.out;
  EXPECT_NE(lines[0]["tvm"]["absent"].get<std::string>().find("its output is off"),
            std::string::npos);
  EXPECT_FALSE(lines[1].contains("geomean_ratio"));
}

TEST_F(TvmProgram, SaysWhyItCannot) {
  const auto refused = run(stand_in(), "refuse");
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("a bad day"), std::string::npos) << refused.err;
  const auto none = run("/nowhere/python");
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("/nowhere/python"), std::string::npos) << none.err;
}

TEST_F(TvmProgram, RunsTheRealOne) {
  const char* python = std::getenv("FETTLE_TVM_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "FETTLE_TVM_PYTHON names no Python with TVM";
  expect_compared(run(python));
}

}  // namespace
}  // namespace fettle::bench
