// The evolutionary searcher: what it learns from features, estimates, failures and other tasks.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "host/tune/background.h"
#include "tests/unit/tune_doubles.h"
#include "tests/unit/tune_objective.h"

namespace fettle::tune {
namespace {

using doubles::grid;
using doubles::knowing_all;
using doubles::searcher;
using doubles::separable;
using space::Configuration;
using space::SearchSpace;

// Resumed trials are told without features: a program that looks like one of them is not
// tried again all the same.
TEST(Searcher, ResumedTrialsCountAmongTheProgramsTried) {
  const SearchSpace space = grid(4, 4);
  SearcherOptions options;
  options.seed = 3;
  options.feature_count = 1;
  // Two knobs change nothing: 16 programs, 16 configurations each.
  options.features = [](const Configuration& c) -> Result<std::vector<float>> {
    return std::vector<float>{static_cast<float>(4 * c.choice[0] + c.choice[1])};
  };
  auto search = make_searcher("evolutionary", space, options).value();
  const auto time = [](const Configuration& c) { return 100.0 + c.choice[0] + c.choice[1]; };
  std::set<float> tried;
  for (std::uint64_t i = 0; i < 8; ++i) {  // the fastest eight programs, among them the best
    const Configuration known{
        0, {static_cast<std::uint32_t>(i / 4), static_cast<std::uint32_t>(i % 4), 0, 0}};
    tried.insert(options.features(known)->front());
    search->observe({known, time(known), false, {}});
  }
  int again = 0;
  for (const Configuration& proposal : search->propose(8)) {
    again += tried.contains(options.features(proposal)->front());
  }
  EXPECT_LE(again, 1) << "a blind draw may hit one";
}

TEST(Searcher, LearnsFromFeaturesWhatTheKnobsHide) {
  // The objective follows a feature that no knob shows: the sum of all choices mod 7.
  const SearchSpace space = grid(5, 8);
  const auto feature = [](const Configuration& c) {
    std::uint32_t sum = 0;
    for (std::uint32_t choice : c.choice) sum += choice * (choice + 3);
    return static_cast<float>(sum % 61);
  };
  SearcherOptions options;
  options.feature_count = 1;
  options.features = [&](const Configuration& c) -> Result<std::vector<float>> {
    return std::vector<float>{feature(c)};
  };
  double with = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    options.seed = seed;
    auto seeing = make_searcher("evolutionary", space, options).value();
    auto blind = searcher("evolutionary", space, seed);
    for (auto* search : {&seeing, &blind}) {
      double best = 1e9;
      for (int i = 0; i < 48; ++i) {
        const auto proposal = (*search)->propose(1).at(0);
        const std::vector<float> features{feature(proposal)};
        const double value = 10 + std::fabs(features[0] - 60) + 0.1 * proposal.choice[0];
        best = std::min(best, value);
        (*search)->observe({proposal, value, false, features});
      }
      (search == &seeing ? with : without) += best - 10;
    }
  }
  EXPECT_LT(with, without);
}

TEST(Searcher, WhatDoesNotLowerOrIsScreenedOutIsNotProposedByPlan) {
  const SearchSpace space = grid(4, 8);
  SearcherOptions options;
  options.seed = 4;
  options.feature_count = 1;
  options.features = [](const Configuration& c) -> Result<std::vector<float>> {
    if (c.choice[0] == 1) return Error{ErrorCode::BuildError, "too much code"};
    return std::vector<float>{static_cast<float>(c.choice[1])};
  };
  options.screen = [](std::span<const float> f) {
    return f[0] == 2 ? "too many registers" : nullptr;
  };
  auto search = make_searcher("evolutionary", space, options).value();
  int hopeless = 0;
  for (int i = 0; i < 80; ++i) {
    const auto proposal = search->propose(1).at(0);
    hopeless += proposal.choice[0] == 1 || proposal.choice[1] == 2;
    search->observe({proposal, separable(proposal), false, {}});
  }
  // A quarter of the space; only the share of blind draws may hit it.
  EXPECT_LE(hopeless, 6);
  EXPECT_GT(search->statistics().screened, 0u);
  EXPECT_GT(search->statistics().unlowered, 0u);
}

TEST(Searcher, StartsWithWhatOtherTasksTaught) {
  const SearchSpace space = grid(6, 8);
  const auto features = [](const Configuration& c) {
    return std::vector<float>(c.choice.begin(), c.choice.end());
  };
  SearcherOptions options;
  options.feature_count = 6;
  options.task = "this";
  options.features = [&](const Configuration& c) -> Result<std::vector<float>> {
    return features(c);
  };
  double taught = 0, fresh = 0;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    std::mt19937_64 rng(seed);
    auto experience = std::make_shared<cost::Experience>();
    for (int i = 0; i < 300; ++i) {
      const Configuration c = space.random(rng);
      experience->add("other", {features(c), 7 * separable(c), false});
    }
    options.seed = seed;
    for (bool lessons : {false, true}) {
      options.experience = lessons ? experience : nullptr;
      auto search = make_searcher("evolutionary", space, options).value();
      double best = 1e9;
      for (int i = 0; i < 12; ++i) {
        const auto proposal = search->propose(1).at(0);
        best = std::min(best, separable(proposal));
        search->observe({proposal, separable(proposal), false, {}});
      }
      (lessons ? taught : fresh) += best - 100;
    }
  }
  EXPECT_LT(taught, fresh / 2);
}

TEST(Searcher, BeginsWithWhatAnEstimateFindsFast) {
  const SearchSpace space = grid(6, 8);
  SearcherOptions options;
  options.feature_count = 1;
  options.estimate = 0;
  // Knows the first four knobs only.
  options.features = [&](const Configuration& c) -> Result<std::vector<float>> {
    Configuration known = c;
    known.choice.resize(4);
    return std::vector<float>{static_cast<float>(std::log2(separable(known)))};
  };
  double told = 0, spread = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    options.seed = seed;
    auto telling = make_searcher("evolutionary", space, options).value();
    auto blind = searcher("evolutionary", space, seed);
    for (const auto& c : telling->propose(8)) told += separable(c) - 100;
    for (const auto& c : blind->propose(8)) spread += separable(c) - 100;
  }
  EXPECT_LT(told, spread * 0.7);
}

TEST(Searcher, ThinksAsMuchAsTheTrialsAreWorth) {
  const SearchSpace space = grid(6, 8);
  const auto lowered = [&](std::size_t trials) {
    SearcherOptions options = knowing_all(5);
    options.trials = trials;
    auto search = make_searcher("evolutionary", space, options).value();
    search->propose(8);
    const std::size_t first = search->statistics().lowered;
    for (int i = 0; i < 24; ++i) {
      const Configuration next = search->propose(1).at(0);
      search->observe({next, separable(next), false, {}});
    }
    return std::pair(first, search->statistics().lowered - first);
  };
  const auto [first, later] = lowered(0);
  EXPECT_EQ(lowered(64), std::pair(first, later)) << "as many as are worth plain thought";
  const auto [more_first, more_later] = lowered(640);
  EXPECT_GT(more_first, first * 3 / 2);
  EXPECT_GT(more_later, later * 3 / 2);
  const auto [few_first, few_later] = lowered(4);
  EXPECT_LT(few_first, first * 6 / 10);
  EXPECT_GT(few_first, first * 3 / 10);
  EXPECT_LT(few_later, later * 9 / 10);
}

// A region that fails and one that only yields lower bounds must not draw the
// search away from the measured optimum.
TEST(Searcher, EvolutionaryLivesWithFailuresAndCensoredTimes) {
  const SearchSpace space = grid(6, 8);
  int reached = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    auto search = searcher("evolutionary", space, seed);
    double best = 1e9;
    for (int i = 0; i < 150; ++i) {
      const Configuration proposal = search->propose(1).at(0);
      const double value = separable(proposal);
      Observation observation{proposal, value, false, {}};
      if (proposal.choice[5] == 0) {
        observation.nanoseconds.reset();  // a third of the way to nowhere
      } else if (value > best * 1.2) {
        observation.nanoseconds = best * 1.2;  // stopped by racing: at least so long
        observation.censored = true;
      } else {
        best = std::min(best, value);
      }
      search->observe(observation);
    }
    reached += best <= 102;
  }
  EXPECT_GE(reached, 5);
}

}  // namespace
}  // namespace fettle::tune
