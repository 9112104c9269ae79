// The figures of `fettle-bench efficiency`, by hand, and the time that is left.
#include <gtest/gtest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "tests/bench/confirmed_best.h"
#include "tests/bench/efficiency_report.h"
#include "tests/bench/time_left.h"
#include "tests/unit/records_sample.h"

namespace fettle::bench {
namespace {

TEST(Efficiency, SharesAndTrialsOfACurve) {
  const std::vector<std::optional<double>> times = {std::nullopt, 400, 500, 200, std::nullopt, 100};
  const std::vector<double> curve = best_so_far(times);
  EXPECT_EQ(curve, (std::vector<double>{0, 400, 400, 200, 200, 100}));
  EXPECT_EQ(share_reached(curve, 1, 100), 0);
  EXPECT_EQ(share_reached(curve, 5, 100), 0.5);
  EXPECT_EQ(share_reached(curve, 7, 100), std::nullopt);
  EXPECT_EQ(trials_to(curve, 0.25, 100), 2u);
  EXPECT_EQ(trials_to(curve, 0.95, 100), 6u);
  EXPECT_EQ(trials_to(curve, 0.95, 90), std::nullopt) << "another searcher found better";
}

// A run of `trials` trials that has 95 % of 100 ns after `reached` of them, 0: never.
EfficiencyRun run(std::size_t layer, std::size_t arm, std::uint64_t seed, unsigned trials,
                  unsigned reached) {
  EfficiencyRun made{layer, arm, seed, std::vector<double>(trials, 200), 0};
  for (unsigned i = reached; reached > 0 && i <= trials; ++i) made.curve[i - 1] = 100;
  return made;
}

const std::vector<EfficiencyArm> kArms = {
    {"evolutionary", 64}, {"xgb-knob", 200}, {"xgb-itervar", 200}};
const std::vector<EfficiencyLayer> kLayers = {{"a", 100}, {"b", 100}};

std::vector<EfficiencyRun> two_seeds() {
  std::vector<EfficiencyRun> runs;
  const unsigned reached[2][3][2] = {{{10, 30}, {100, 150}, {80, 60}},  // layer a: arm, seed
                                     {{20, 0}, {200, 0}, {120, 140}}};  // layer b
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t arm = 0; arm < 3; ++arm) {
      for (std::size_t seed = 0; seed < 2; ++seed) {
        runs.push_back(run(layer, arm, seed + 1, kArms[arm].trials, reached[layer][arm][seed]));
      }
    }
  }
  return runs;
}

TEST(Efficiency, MeansSpreadsAndTheRatioToTheBetterXgb) {
  const auto summary = efficiency_summary(kArms, kLayers, two_seeds());
  const auto& of = summary["searchers"];
  // Never is one more than the longest may make: nobody gains by ending early.
  EXPECT_DOUBLE_EQ(of["evolutionary"]["trials_to_95"], (10 + 30 + 20 + 201) / 4.0);
  EXPECT_EQ(of["evolutionary"]["runs_never_at_95"], 1);
  EXPECT_DOUBLE_EQ(of["xgb-knob"]["trials_to_95"], (100 + 150 + 200 + 201) / 4.0);
  EXPECT_DOUBLE_EQ(of["xgb-itervar"]["trials_to_95"], 100);
  EXPECT_DOUBLE_EQ(of["evolutionary"]["over_better_xgb"], 261.0 / 400);
  EXPECT_DOUBLE_EQ(of["xgb-itervar"]["over_better_xgb"], 1);
  // Means of the seeds: 15 and 115.5.
  EXPECT_DOUBLE_EQ(of["evolutionary"]["trials_to_95_seed_deviation"], 100.5 / std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(summary["layers"]["a"]["evolutionary"]["trials_to_95_deviation"],
                   20 / std::sqrt(2.0));
  // At 64 trials: of b, half of the seeds is there, which is no half of the share.
  EXPECT_EQ(of["evolutionary"]["runs_under_95_at_64"], 1);
  EXPECT_EQ(of["evolutionary"]["layers_under_95_at_64"], 1);
  EXPECT_EQ(of["xgb-knob"]["layers_under_95_at_64"], 2);
  EXPECT_EQ(of["xgb-itervar"]["layers_under_95_at_64"], 2);
  EXPECT_FALSE(of["evolutionary"].contains("share_at_200_median"));
  const std::string table = efficiency_table(kArms, summary);
  EXPECT_NE(table.find("20.0 ± 14.1"), std::string::npos) << table;
  EXPECT_NE(table.find("0.65"), std::string::npos) << table;
}

records::TuningRecord trial(const char* program, double nanoseconds) {
  records::TuningRecord record = records::test::measured(1, nanoseconds);
  record.program_hash = program;
  return record;
}

// A search is told by what its programs take when they meet the same machine as the best.
TEST(Efficiency, ProgramsThatCameNearAreToldByTheirSecondMeasurement) {
  const Records search = {trial("far", 300), trial("lucky", 101), trial("good", 104),
                          trial("twin of good", 108), trial("good", 96)};
  Confirmation confirmation{100, {{"lucky", 120}, {"good", 103}}, 120};
  const std::vector<std::optional<double>> expected = {300, 120, 103, std::nullopt, 103};
  EXPECT_EQ(confirmed_times(search, confirmation), expected);
  confirmation.best.reset();  // not all were measured yet: as they were measured
  EXPECT_EQ(confirmed_times(search, confirmation)[1], 101);
}

TEST(Efficiency, ASeedCountsOnceAllHaveSearchedIt) {
  std::vector<EfficiencyRun> runs = two_seeds();
  runs.pop_back();  // of b, seed 2
  const auto summary = efficiency_summary(kArms, kLayers, runs);
  const auto& of = summary["searchers"]["evolutionary"];
  EXPECT_EQ(of["runs"], 3);
  EXPECT_DOUBLE_EQ(of["trials_to_95"], 20);
  EXPECT_TRUE(of["trials_to_95_seed_deviation"].is_null()) << "one seed alone has all layers";
  EXPECT_TRUE(efficiency_summary(kArms, kLayers, {})["searchers"].empty());
  EXPECT_NE(efficiency_table(kArms, efficiency_summary(kArms, kLayers, {})).find("no layer"),
            std::string::npos);
}

TEST(TimeLeft, IsByTheKindsThatRan) {
  TimeLeft left(2, 3);
  EXPECT_EQ(left.seconds(), 0) << "nothing is known";
  left.ran(0, 10);
  EXPECT_DOUBLE_EQ(left.seconds(), 2 * 10 + 3 * 10);
  left.ran(1, 40);
  EXPECT_DOUBLE_EQ(left.seconds(), 2 * 10 + 2 * 40);
  left.was_there(1);
  EXPECT_DOUBLE_EQ(left.seconds(), 2 * 10 + 40);
}

}  // namespace
}  // namespace fettle::bench
