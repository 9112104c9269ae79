// Predictions beside measurements: ranks by hand, and a task whose times can be learnt.
#include "host/plot/prediction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/support/plot_sample.h"

namespace fettle::plot {
namespace {

TEST(RankCorrelation, OfOrderAlone) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3}, {10, 100, 1000}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3}, {9, 8, -4}), -1);
  // 1 - 6 (0 + 1 + 1) / (4 * 15)
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {1, 3, 2, 4}), 0.8);
}

TEST(RankCorrelation, EqualNumbersShareARank) {
  // Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5).
  EXPECT_DOUBLE_EQ(rank_correlation({1, 5, 5, 9}, {1, 2, 3, 4}), 4.5 / std::sqrt(4.5 * 5));
  EXPECT_TRUE(std::isnan(rank_correlation({1, 1}, {1, 2})));
}

class HeldBack : public ::testing::Test {
 protected:
  HeldBack() {
    for (const test::SampleTrial& trial : test::sample_trials(512, 300)) {
      trials_.push_back({trial.configuration, trial.nanoseconds});
    }
  }
  std::optional<Prediction> predict() {
    return predict_held_back(test::sample_workload(512).canonical(),
                             test::sample_target().canonical(), trials_);
  }
  std::vector<MeasuredTrial> trials_;
};

TEST_F(HeldBack, TimesThatFollowFromKnobsArePredicted) {
  const auto prediction = predict();
  ASSERT_TRUE(prediction);
  EXPECT_GT(prediction->rank_correlation, 0.75);
  double log_error = 0;
  for (const HeldBackTrial& trial : prediction->held_back) {
    log_error += std::fabs(std::log(trial.predicted / trial.measured));
  }
  EXPECT_LT(log_error / static_cast<double>(prediction->held_back.size()), 0.2)
      << "in nanoseconds, not only in order";
}

TEST_F(HeldBack, TimesThatFollowFromNothingAreNot) {
  std::mt19937_64 rng(1);
  for (MeasuredTrial& trial : trials_) {
    trial.nanoseconds = std::uniform_real_distribution<double>(1e6, 3e6)(rng);
  }
  const auto prediction = predict();
  ASSERT_TRUE(prediction);
  EXPECT_LT(std::fabs(prediction->rank_correlation), 0.3) << "held-back trials were learnt";
}

TEST_F(HeldBack, RepeatedConfigurationsAreNotOnBothSides) {
  const std::size_t unique = [&] {
    std::set<std::string> seen;
    for (const MeasuredTrial& trial : trials_) seen.insert(trial.configuration);
    return seen.size();
  }();
  trials_.insert(trials_.end(), trials_.begin(), trials_.end());
  const auto prediction = predict();
  ASSERT_TRUE(prediction);
  EXPECT_EQ(prediction->held_back.size(), unique / 2);
}

TEST_F(HeldBack, TooLittleIsNoPrediction) {
  const auto all = trials_;
  trials_.resize(kFewestLearnt - 1);
  EXPECT_FALSE(predict());
  trials_.assign(100, all.front());
  EXPECT_FALSE(predict()) << "one configuration, often";
  trials_ = all;
  EXPECT_FALSE(predict_held_back("{}", test::sample_target().canonical(), trials_));
  EXPECT_FALSE(predict_held_back(test::sample_workload(512).canonical(), "", trials_));
}

}  // namespace
}  // namespace fettle::plot
