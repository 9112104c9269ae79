// AutoTVM's tuner by its two kinds of features: their names, what a plan may lower, and what it
// does with configurations that make no program.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "host/tune/xgb_features.h"
#include "tests/unit/tune_doubles.h"
#include "tests/unit/tune_objective.h"

namespace fettle::tune {
namespace {

using doubles::grid;
using doubles::searcher;
using doubles::separable;
using space::Configuration;
using space::SearchSpace;

std::vector<std::vector<std::uint32_t>> proposals(Searcher& search, int count) {
  std::vector<std::vector<std::uint32_t>> made;
  for (int i = 0; i < count; ++i) {
    const Configuration proposal = search.propose(1).at(0);
    made.push_back(proposal.choice);
    search.observe({proposal, separable(proposal), false, {}});
  }
  return made;
}

TEST(Xgb, TheNameOfOldSessionsIsTheKindWithKnobs) {
  const SearchSpace space = grid(6, 8);
  const auto old = proposals(*searcher("xgb", space, 3), 150);
  EXPECT_EQ(old, proposals(*searcher("xgb-knob", space, 3), 150));
  EXPECT_NE(old, proposals(*searcher("xgb-itervar", space, 3), 150)) << "plans of another model";
  EXPECT_EQ(current_searcher_name("xgb"), "xgb-knob");
  EXPECT_EQ(current_searcher_name("ga"), "ga");
}

TEST(Xgb, LoopsThatThereAreNotAreRefused) {
  const SearchSpace space = grid(2, 4);
  SearcherOptions options;
  for (int without : {0, 1}) {
    if (without == 1) {
      options.itervar_features = [](const Configuration&) -> Result<std::vector<float>> {
        return Error{ErrorCode::Unsupported, "no loops", {}};
      };
    }
    const auto made = make_searcher("xgb-itervar", space, options);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::Unsupported);
    EXPECT_NE(made.error().message.find("xgb-knob"), std::string::npos) << made.error().message;
  }
}

TEST(Xgb, APlanLowersSoManyAndNoneTwice) {
  const SearchSpace space = grid(8, 8);
  SearcherOptions options;
  options.seed = 1;
  std::size_t lowered = 0;
  std::set<std::vector<std::uint32_t>> of_plan;
  options.itervar_features = [&](const Configuration& c) {
    ++lowered;
    EXPECT_TRUE(of_plan.insert(c.choice).second) << "remembered";
    return doubles::choices_reversed(c);
  };
  const auto search = make_searcher("xgb-itervar", space, options).value();
  EXPECT_EQ(lowered, 1u) << "whether there are loops";
  for (std::size_t plan = 1; plan <= 3; ++plan) {
    lowered = 0;
    of_plan.clear();
    proposals(*search, 64);
    const std::size_t before = lowered;  // of the plan that was made by the first proposal
    EXPECT_LE(before, kItervarLowerings + 64);
    if (plan > 1) {
      EXPECT_GT(before, 64u);
    }
    EXPECT_EQ(search->statistics().plans, plan - 1);
  }
  EXPECT_GT(search->statistics().lowered, 0u);
}

TEST(Xgb, TheFeaturesOfAPlanEndAtItsBound) {
  const SearchSpace space = grid(6, 8);
  const auto features = make_itervar_features(doubles::choices_reversed);
  const auto asked = [&](std::uint64_t i) {
    return features->of_candidate(space.at(i)) != nullptr;
  };
  EXPECT_FALSE(asked(0)) << "no plan was begun";
  features->begin_plan();
  for (std::uint64_t i = 0; i < kItervarLowerings; ++i) ASSERT_TRUE(asked(i)) << i;
  EXPECT_FALSE(asked(kItervarLowerings));
  EXPECT_TRUE(asked(7)) << "what was lowered already costs nothing";
  EXPECT_FALSE(features->of_trial(space.at(kItervarLowerings)).empty())
      << "trials are no candidates";
  features->begin_plan();
  EXPECT_TRUE(asked(kItervarLowerings));
  EXPECT_TRUE(asked(0));
  EXPECT_EQ(features->statistics().lowered, kItervarLowerings + 2);
}

// Configurations of an odd first choice make no program: once there is a model, only the random
// twentieth of a plan is of those.
TEST(Xgb, WhatMakesNoProgramIsNotPlanned) {
  const SearchSpace space = grid(6, 8);
  SearcherOptions options;
  options.seed = 2;
  options.itervar_features = [](const Configuration& c) -> Result<std::vector<float>> {
    if (c.choice[0] % 2 == 1) return Error{ErrorCode::BuildError, "odd", {}};
    return doubles::choices_reversed(c);
  };
  const auto search = make_searcher("xgb-itervar", space, options).value();
  int odd = 0;
  for (int i = 0; i < 192; ++i) {
    const Configuration c = search->propose(1).at(0);
    const bool fails = c.choice[0] % 2 == 1;
    if (i >= 64) odd += fails;
    search->observe({c, fails ? std::nullopt : std::optional(separable(c)), false, {}});
  }
  EXPECT_LE(odd, 2 * 3);
}

}  // namespace
}  // namespace fettle::tune
