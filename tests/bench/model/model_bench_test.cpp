// The model of times on trials whose times are known functions of their features.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/bench/model/model_bench.h"

namespace fettle::bench {
namespace {

const std::vector<std::string> kNames = {"log_estimated_cycles", "hidden", "noise"};

// The estimate lacks what a feature shows: programs with `hidden` > 0.5 take so many times as long.
Tasks tasks(std::size_t count, std::size_t trials, double hidden_factor) {
  std::mt19937_64 rng(3);
  std::uniform_real_distribution<float> uniform(0, 1);
  Tasks made;
  for (std::size_t t = 0; t < count; ++t) {
    auto& samples = made[task_key("task " + std::to_string(t), "machine")];
    for (std::size_t i = 0; i < trials; ++i) {
      const float estimate = 10 + 3 * uniform(rng), hidden = uniform(rng);
      const double time = std::exp2(double(estimate)) * (hidden > 0.5 ? hidden_factor : 1);
      samples.push_back({{estimate, hidden, uniform(rng)}, time, false});
    }
  }
  return made;
}

TEST(ModelBench, AnEstimateThatIsRightLeavesNothingToLearn) {
  const auto found = model_figures(tasks(3, 100, 1), kNames, 8, 2, 2);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->models, 6u);
  EXPECT_NEAR(found->first, 0, 0.05);
  EXPECT_NEAR(found->first_few, 0, 1e-9);
  EXPECT_GT(found->rank_correlation, 0.98);
  EXPECT_GT(found->training_ms, 0);
}

TEST(ModelBench, TrialsTeachWhatTheEstimateLacks) {
  const Tasks all = tasks(6, 400, 3);
  const auto few = model_figures(all, kNames, 2, 0, 4);
  const auto many = model_figures(all, kNames, 60, 0, 4);
  const auto others = model_figures(all, kNames, 2, 5, 4);
  ASSERT_TRUE(few && many && others);
  EXPECT_LT(many->first, few->first);
  EXPECT_GT(many->rank_correlation, few->rank_correlation + 0.1);
  EXPECT_GT(others->rank_correlation, few->rank_correlation);
}

// As to the search: what it is told of stopped trials are times like any.
TEST(ModelBench, TimesOfStoppedTrialsCount) {
  const Tasks whole = tasks(4, 100, 3);
  Tasks stopped = whole;
  for (auto& [name, samples] : stopped) {
    for (std::size_t i = 0; i < samples.size(); i += 2) samples[i].censored = true;
  }
  const auto a = model_figures(whole, kNames, 8, 3, 2), b = model_figures(stopped, kNames, 8, 3, 2);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->models, b->models);
  EXPECT_EQ(a->first, b->first);
  EXPECT_EQ(a->rank_correlation, b->rank_correlation);
}

TEST(ModelBench, TooFewTrialsOrNoEstimateIsAnError) {
  const auto few = model_figures(tasks(2, 70, 1), kNames, 8, 1, 1);
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(few.error().message, "no task has 76 trials");
  EXPECT_FALSE(model_figures(tasks(2, 100, 1), {"a", "b", "c"}, 8, 1, 1));
  EXPECT_FALSE(model_figures({}, kNames, 8, 1, 1));
}

}  // namespace
}  // namespace fettle::bench
