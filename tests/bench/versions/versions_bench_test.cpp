// `fettle-bench versions` with scripts for programs: what it asks of them, and how it ends
// when one fails, when it is interrupted and when it is run again.
#include "tests/bench/versions/versions_bench.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

namespace fettle::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// What the scripts do: each notes its arguments in "calls", and answers as the real ones do.
constexpr const char* kFettle = R"sh(#!/bin/sh
here=$(dirname "$0")
if [ "$2" = --help ]; then
  echo "--device --hardware --trials --scheduler --seed --db --json"
  exit
fi
echo "$* agent=$(basename "$(dirname "$FETTLE_AGENT")")" >> "$here/calls"
for word; do
  [ "$last" = --trials ] && trials=$word
  [ "$last" = --db ] && : > "$word"
  last=$word
done
TUNE
echo "{\"event\":\"trial\",\"trial\":1}"
echo "{\"event\":\"summary\",\"trials\":$trials}"
)sh";
constexpr const char* kBench = R"sh(#!/bin/sh
if [ "$2" = --help ]; then
  echo "--db --network --threads --rounds --json"
  exit
fi
echo "$*" >> "$(dirname "$0")/calls"
echo '{"layer":"dense","fettle":{"ns_median":TIME},"ratio":0.5}'
echo '{"layer":"softmax","missing":"no peer"}'
echo '{"summary":true}'
)sh";

std::string with(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

class Versions : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "fettle-versions-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    make_side("old", 200);
    make_side("new", 100);
    options_.baseline = folder_ / "old";
    options_.candidate = folder_ / "new";
    options_.networks = {"net"};
    options_.trials = 30;
    options_.turns = 2;
    options_.keep = folder_ / "keep";
    options_.json = true;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // `tune`: what its fettle does besides.
  void make_side(const std::string& name, int nanoseconds, const std::string& tune = "") {
    fs::create_directories(folder_ / name);
    write(name + "/fettle", with(kFettle, "TUNE", tune));
    write(name + "/fettle-bench", with(kBench, "TIME", std::to_string(nanoseconds)));
    write(name + "/fettle-agent", "#!/bin/sh\n");
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }
  std::vector<std::string> calls(const std::string& side) const {
    std::ifstream file(folder_ / side / "calls");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  // Standard output's last line; the Error's text where it failed.
  Json summary() {
    ::testing::internal::CaptureStdout();
    const auto done = run_versions_bench(options_);
    std::istringstream lines(::testing::internal::GetCapturedStdout());
    std::string last;
    for (std::string line; std::getline(lines, line);) last = line;
    if (!done) return done.error().text();
    return Json::parse(last, nullptr, false);
  }

  fs::path folder_;
  VersionsBenchOptions options_;
};

TEST_F(Versions, BothSidesAreTunedAndTimedWithTheirOwnPrograms) {
  const Json told = summary();
  ASSERT_TRUE(told.is_object()) << told;
  EXPECT_EQ(told["summary"], true);
  EXPECT_DOUBLE_EQ(told["kernels_geomean"].get<double>(), 2);
  EXPECT_EQ(told["layers"], 1);
  EXPECT_EQ(told["layers_lost"], Json::array());
  EXPECT_EQ(told["tunes"], 2);
  EXPECT_GT(told["trials_per_hour_ratio"].get<double>(), 0);
  EXPECT_LE(told["trials_per_hour_ratio_least"], told["trials_per_hour_ratio_most"]);
  for (const std::string side : {"old", "new"}) {
    const auto made = calls(side);
    ASSERT_EQ(made.size(), 6u) << "two seeds tuned, two turns of each of their kernels";
    const std::string name = side == "old" ? "baseline" : "candidate";
    const std::string db = (folder_ / "keep" / (name + ".net.seed2.db")).string();
    EXPECT_EQ(made[1],
              "tune net --device local --hardware threads=1 --scheduler round-robin --json "
              "--trials 30 --seed 2 --db " +
                  db + " agent=" + side);
    EXPECT_EQ(made[5], "kernels --json --db " + db + " --network net --threads 1 --rounds 5");
  }
}

TEST_F(Versions, WhatWasTunedIsNotTunedAgainUnlessItCannotCount) {
  ASSERT_TRUE(summary().is_object());
  ASSERT_TRUE(summary().is_object());
  EXPECT_EQ(calls("old").size(), 6u + 4) << "the second time its kernels only";
  // A tune that did not come to its end.
  fs::remove(folder_ / "keep/candidate.net.seed1.done.json");
  ASSERT_TRUE(summary().is_object());
  EXPECT_EQ(calls("old").size(), 10u + 4);
  EXPECT_EQ(calls("new").size(), 10u + 5);
  options_.trials = 31;
  EXPECT_NE(summary().get<std::string>().find("baseline.net.seed1.done.json is of other programs"),
            std::string::npos);
  options_.trials = 30;
  make_side("new", 100, "true # another program");
  EXPECT_NE(summary().get<std::string>().find("candidate.net.seed1.done.json is of other"),
            std::string::npos);
}

TEST_F(Versions, TheGateFailsWhereTheCandidateIsSlower) {
  std::swap(options_.baseline, options_.candidate);
  ASSERT_TRUE(summary().is_object());
  options_.gate = true;
  const Json told = summary();
  ASSERT_TRUE(told.is_string());
  EXPECT_NE(told.get<std::string>().find("kernels_geomean 0.5000 < 0.99"), std::string::npos);
}

TEST_F(Versions, AChildThatFailsEndsTheRunWithItsWords) {
  make_side("new", 100, "echo 'fettle: no agent here' >&2; exit 3");
  const std::string told = summary().get<std::string>();
  EXPECT_NE(told.find("exit status 3"), std::string::npos) << told;
  EXPECT_NE(told.find("fettle: no agent here"), std::string::npos) << told;
  EXPECT_NE(told.find("candidate: net, seed 1"), std::string::npos) << told;
}

// `kernels` fails where a layer has no record; its lines tell that as well.
TEST_F(Versions, KernelsThatFailForAMissingLayerAreRead) {
  write("new/fettle-bench", with(kBench, "TIME", "100") + "exit 1\n");
  const Json told = summary();
  ASSERT_TRUE(told.is_object()) << told;
  EXPECT_DOUBLE_EQ(told["kernels_geomean"].get<double>(), 2);
  const std::string missing = R"(echo '{"layer":"softmax","missing":"no peer"}')";
  write("new/fettle-bench", with(with(kBench, "TIME", "100"), missing, "") + "exit 1\n");
  EXPECT_NE(summary().get<std::string>().find("exit status 1"), std::string::npos);
}

TEST_F(Versions, FewerTrialsThanAskedForAreAnError) {
  make_side("old", 100, "trials=29");
  const std::string told = summary().get<std::string>();
  EXPECT_NE(told.find("ended after 29 trials, 30 were asked for"), std::string::npos) << told;
}

TEST_F(Versions, ProgramsAreAskedBeforeAnythingLongRuns) {
  write("new/fettle-bench", "#!/bin/sh\necho --db\n");
  EXPECT_NE(summary().get<std::string>().find("kernels' does not know --network"),
            std::string::npos);
  fs::remove(folder_ / "new/fettle-agent");
  EXPECT_NE(summary().get<std::string>().find("has no program fettle-agent"), std::string::npos);
  EXPECT_TRUE(calls("old").empty());
}

TEST_F(Versions, AnInterruptEndsTheChild) {
  make_side("old", 100, "echo $$ > \"$here/pid\"\nkill -INT $PPID\nexec sleep 100");
  const auto begin = std::chrono::steady_clock::now();
  const std::string told = summary().get<std::string>();
  EXPECT_NE(told.find("interrupted"), std::string::npos) << told;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
  std::ifstream file(folder_ / "old/pid");
  std::string pid;
  ASSERT_TRUE(file >> pid);
  EXPECT_FALSE(fs::exists("/proc/" + pid));
  EXPECT_TRUE(calls("new").empty());
}

}  // namespace
}  // namespace fettle::bench
