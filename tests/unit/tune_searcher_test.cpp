// Searchers on synthetic objectives, and simulated annealing.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "host/tune/annealing.h"
#include "host/tune/background.h"
#include "host/tune/searcher.h"
#include "tests/unit/tune_doubles.h"

namespace fettle::tune {
namespace {

using doubles::grid;
using space::Configuration;
using space::SearchSpace;

std::unique_ptr<Searcher> searcher(const char* name, const SearchSpace& space, std::uint64_t seed) {
  return make_searcher(name, space, {seed}).value();
}

// A separable objective: every knob has a best option of its own.
double separable(const Configuration& configuration) {
  double sum = 100;
  for (std::size_t i = 0; i < configuration.choice.size(); ++i) {
    const double off =
        static_cast<double>(configuration.choice[i]) - static_cast<double>(i * 3 % 8);
    sum += off * off;
  }
  return sum;
}

double best_after(const char* name, const SearchSpace& space, std::uint64_t seed, int trials) {
  auto search = searcher(name, space, seed);
  double best = 1e9;
  for (int i = 0; i < trials; ++i) {
    const auto proposal = search->propose(1);
    if (proposal.empty()) break;
    const double value = separable(proposal[0]);
    best = std::min(best, value);
    search->observe({proposal[0], value, false, {}});
  }
  return best;
}

// Wins against random search on the same objective, by seeds; ties count for neither.
struct Comparison {
  int wins = 0, losses = 0;
  double sum = 0, random_sum = 0;  // of what the best lacks
};
Comparison against_random(const char* name, int seeds, int trials) {
  const SearchSpace space = grid(6, 8);  // 262144 points, the best is 100
  Comparison result;
  for (int seed = 0; seed < seeds; ++seed) {
    const double found = best_after(name, space, seed, trials);
    const double random = best_after("random", space, seed, trials);
    result.wins += found < random;
    result.losses += found > random;
    result.sum += found - 100;
    result.random_sum += random - 100;
  }
  return result;
}

// By chance alone 12 of 12 has a probability of 1 / 4096.
TEST(Searcher, EvolutionaryBeatsRandomOnASeparableObjective) {
  const Comparison seen = against_random("evolutionary", 12, 80);
  EXPECT_EQ(seen.wins, 12);
  EXPECT_LT(seen.sum, seen.random_sum / 3);
}

TEST(Searcher, XgbBeatsRandomOnceItHasLearnt) {
  const Comparison seen = against_random("xgb", 6, 200);
  EXPECT_EQ(seen.losses, 0);
  EXPECT_LT(seen.sum, seen.random_sum / 2);
}

TEST(Searcher, TheGeneticAlgorithmBeatsRandomAfterSomeGenerations) {
  const Comparison seen = against_random("ga", 40, 1500);
  EXPECT_GE(seen.wins, 4 * seen.losses);
  EXPECT_LT(seen.sum, seen.random_sum / 2);
}

// The mean of what `name` proposes for trials 201 to 300, over 40 seeds, with `under_way`
// trials measured late. Resumed: the first 200, drawn at random, are told to a fresh searcher.
double mean_of_third_hundred(const char* name, bool resumed, std::size_t under_way) {
  const SearchSpace space = grid(6, 8);
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto search = searcher(name, space, seed);
    if (resumed) {
      auto before = searcher("random", space, seed + 1000);
      for (const Configuration& c : before->propose(200)) {
        search->observe({c, separable(c), false, {}});
      }
    }
    std::deque<Configuration> out;
    for (int trial = resumed ? 201 : 1; trial <= 300; ++trial) {
      out.push_back(search->propose(1).at(0));
      if (trial > 200) sum += separable(out.back());
      if (out.size() <= under_way) continue;
      search->observe({out.front(), separable(out.front()), false, {}});
      out.pop_front();
    }
  }
  return sum / 100 / 40;
}

// Random means differ by about 0.5.
TEST(Searcher, TheGeneticAlgorithmBreedsFromAResumedHistory) {
  EXPECT_LT(mean_of_third_hundred("ga", true, 0), mean_of_third_hundred("random", true, 0) - 3);
}

// As in a session: the next trials are proposed before the last ones have ended.
TEST(Searcher, TheGeneticAlgorithmBreedsWhileTrialsAreUnderWay) {
  EXPECT_LT(mean_of_third_hundred("ga", false, 4), mean_of_third_hundred("random", false, 4) - 3);
}

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
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
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
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
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

// Made beside the loop or not, the first plan is what a search begins with: no draws.
TEST(Searcher, TheFirstPlanIsWaitedFor) {
  const SearchSpace space = grid(6, 8);
  Background background;
  SearcherOptions options;
  options.seed = 4;
  options.feature_count = 1;
  options.estimate = 0;
  options.features = [&](const Configuration& c) -> Result<std::vector<float>> {
    return std::vector<float>{static_cast<float>(std::log2(separable(c)))};
  };
  const auto planned = make_searcher("evolutionary", space, options).value()->propose(4);
  options.background = &background;
  EXPECT_EQ(make_searcher("evolutionary", space, options).value()->propose(4), planned);
  // What a resumed session knows already makes that plan worthless.
  auto resumed = make_searcher("evolutionary", space, options).value();
  for (int i = 0; i < 20; ++i) {
    const Configuration known = space.at(static_cast<std::uint64_t>(i) * 1009);
    resumed->observe({known, separable(known), false, {}});
  }
  EXPECT_NE(resumed->propose(4), planned);
}

// Every searcher proposes what fulfils the constraint, all of it, and then nothing.
TEST(Searcher, ConstraintsAreKept) {
  std::vector<space::Sketch> sketches = grid(3, 5).sketches();
  const auto& knobs = sketches[0].knobs;
  sketches[0].constraints.push_back(
      {"the first is not the second's",
       {knobs[0].name, knobs[1].name},
       [](std::span<const space::KnobValue* const> v) { return *v[0] != *v[1]; }});
  const SearchSpace space(sketches);
  for (const char* name : {"evolutionary", "xgb", "ga", "random", "grid"}) {
    SearcherOptions options;
    options.seed = 6;
    options.feature_count = 1;
    options.features = [&](const Configuration& c) -> Result<std::vector<float>> {
      return std::vector<float>{static_cast<float>(std::log2(separable(c)))};
    };
    auto search = make_searcher(name, space, options).value();
    std::set<std::vector<std::uint32_t>> seen;
    for (;;) {
      const auto proposals = search->propose(4);
      if (proposals.empty()) break;
      for (const Configuration& c : proposals) {
        EXPECT_TRUE(space.contains(c)) << name;
        EXPECT_TRUE(seen.insert(c.choice).second) << name;
        search->observe({c, separable(c), false, {}});
      }
    }
    EXPECT_EQ(seen.size(), 5u * 4 * 5) << name;
  }
}

TEST(Searcher, PlansBesideTheLoopWithoutRepeatingAnything) {
  const SearchSpace space = grid(3, 5);
  Background background;
  SearcherOptions options;
  options.seed = 9;
  options.background = &background;
  auto search = make_searcher("evolutionary", space, options).value();
  std::set<std::vector<std::uint32_t>> seen;
  for (;;) {
    const auto proposals = search->propose(1);
    if (proposals.empty()) break;
    EXPECT_TRUE(seen.insert(proposals[0].choice).second) << "proposed twice";
    search->observe({proposals[0], separable(proposals[0]), false, {}});
    // Trials take time: some proposals come from plans, some from before they are made.
    if (seen.size() % 8 != 0) continue;
    for (int i = 0; i < 2000 && (i == 0 || search->statistics().plans == 0); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  EXPECT_EQ(seen.size(), 125u);
  EXPECT_GT(search->statistics().plans, 0u);
}

// Beside the loop as well: while little is known, no trial is a blind one.
TEST(Searcher, IsNotReadyWhileItsPlanIsBeingMadeAndWaitsForIt) {
  const SearchSpace space = grid(6, 8);
  std::mutex gate;  // held: nothing can be lowered
  Background background;
  SearcherOptions options;
  options.seed = 9;
  options.feature_count = 1;
  options.features = [&](const Configuration& c) -> Result<std::vector<float>> {
    const std::lock_guard lock(gate);
    return std::vector<float>{static_cast<float>(separable(c))};
  };
  options.background = &background;
  std::unique_lock closed(gate);
  auto search = make_searcher("evolutionary", space, options).value();
  EXPECT_FALSE(search->ready());
  closed.unlock();
  std::size_t trials = 0;
  for (; trials < 40; ++trials) {
    const auto proposal = search->propose(1).at(0);
    search->observe({proposal, separable(proposal), false, {}});
  }
  closed.lock();
  // What is planned can still be had, then it waits.
  for (; search->ready() && trials < 60; ++trials) search->propose(1);
  EXPECT_LT(trials, 60u);
  closed.unlock();
  EXPECT_EQ(search->propose(1).size(), 1u);
  EXPECT_GE(search->statistics().plans, 4u);
}

class EverySearcher : public testing::TestWithParam<std::string> {};

TEST_P(EverySearcher, ExhaustsASmallSpaceWithoutRepetition) {
  const SearchSpace space = grid(3, 5);
  auto search = searcher(GetParam().c_str(), space, 3);
  std::set<std::vector<std::uint32_t>> seen;
  for (;;) {
    const auto proposals = search->propose(7);
    for (const Configuration& proposal : proposals) {
      EXPECT_TRUE(seen.insert(proposal.choice).second) << "proposed twice";
      search->observe({proposal, separable(proposal), false, {}});
    }
    if (proposals.size() < 7) break;
  }
  EXPECT_EQ(seen.size(), 125u);
  EXPECT_TRUE(search->propose(1).empty());
}

// What the environment ended is no failure of the candidate: the search goes on as if it
// had not been tried, only that it is not tried again.
TEST_P(EverySearcher, LearnsNothingFromALostTrial) {
  const SearchSpace space = grid(6, 8);
  auto told = searcher(GetParam().c_str(), space, 1);
  auto not_told = searcher(GetParam().c_str(), space, 1);
  const Configuration lost = space.at(4711);
  told->observe({lost, std::nullopt, false, {}, true});
  for (int i = 0; i < 150; ++i) {
    const auto a = told->propose(1).at(0), b = not_told->propose(1).at(0);
    EXPECT_FALSE(a == lost);
    if (b == lost) break;  // from here they differ
    ASSERT_EQ(a.choice, b.choice) << "trial " << i;
    told->observe({a, separable(a), false, {}});
    not_told->observe({b, separable(b), false, {}});
  }
}

TEST_P(EverySearcher, NeverProposesWhatWasObserved) {
  const SearchSpace space = grid(2, 4);
  auto search = searcher(GetParam().c_str(), space, 1);
  for (std::uint64_t i = 0; i < 10; ++i) search->observe({space.at(i), 5.0, false, {}});
  const auto proposals = search->propose(100);
  EXPECT_EQ(proposals.size(), 6u);
  for (const Configuration& proposal : proposals) {
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_FALSE(proposal == space.at(i));
  }
}

TEST_P(EverySearcher, IsDeterminedByItsSeed) {
  const SearchSpace space = grid(6, 8);
  std::vector<std::vector<std::uint32_t>> runs[3];
  const std::uint64_t seeds[3] = {5, 5, 6};
  for (int run = 0; run < 3; ++run) {
    auto search = searcher(GetParam().c_str(), space, seeds[run]);
    for (int i = 0; i < 100; ++i) {
      const auto proposal = search->propose(1).at(0);
      runs[run].push_back(proposal.choice);
      search->observe({proposal, separable(proposal), false, {}});
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
  if (GetParam() == "grid") {
    EXPECT_EQ(runs[0], runs[2]) << "the space's own order";
  } else {
    EXPECT_NE(runs[0], runs[2]);
  }
}

TEST_P(EverySearcher, GoesOnWhenEverythingFails) {
  const SearchSpace space = grid(4, 8);
  auto search = searcher(GetParam().c_str(), space, 2);
  for (int i = 0; i < 300; ++i) {
    const auto proposal = search->propose(1);
    ASSERT_EQ(proposal.size(), 1u);
    search->observe({proposal[0], std::nullopt, false, {}});
  }
}

INSTANTIATE_TEST_SUITE_P(All, EverySearcher, testing::ValuesIn(searcher_names()),
                         [](const auto& info) { return info.param; });

// A region that fails and one that only yields lower bounds must not draw the
// search away from the measured optimum.
TEST(Searcher, EvolutionaryLivesWithFailuresAndCensoredTimes) {
  const SearchSpace space = grid(6, 8);
  int reached = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    auto search = searcher("evolutionary", space, seed);
    double best = 1e9;
    for (int i = 0; i < 150; ++i) {
      const Configuration proposal = search->propose(1).at(0);
      const double value = separable(proposal);
      Observation observation{proposal, value, false, {}};
      if (proposal.choice[5] == 0) {
        observation.nanoseconds.reset();  // a third of the way to nowhere
      } else if (value > best * 1.2) {
        observation.censored = true;  // stopped by racing
      } else {
        best = std::min(best, value);
      }
      search->observe(observation);
    }
    reached += best <= 102;
  }
  EXPECT_EQ(reached, 4);
}

TEST(Searcher, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  const SearchSpace space = grid(1, 2);
  const auto made = make_searcher("annealing", space, {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::NotFound);
  for (const std::string& name : searcher_names()) {
    EXPECT_NE(made.error().message.find(name), std::string::npos);
  }
}

TEST(Annealing, FindsTheMaximumOfAKnownScore) {
  const SearchSpace space = grid(6, 8);
  Annealing annealing(space, {});
  Unseen unseen(space);
  std::mt19937_64 rng(1);
  const auto score = [](std::span<const Configuration> configurations) {
    std::vector<float> scores;
    for (const auto& c : configurations) scores.push_back(static_cast<float>(-separable(c)));
    return scores;
  };
  const auto first = annealing.maximums(5, score, unseen, rng);
  ASSERT_EQ(first.size(), 5u);
  EXPECT_LE(separable(first[0]), 102);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_LE(separable(first[i - 1]), separable(first[i]));
  for (const auto& c : first) unseen.insert(c);
  for (const auto& c : annealing.maximums(5, score, unseen, rng)) EXPECT_FALSE(unseen.contains(c));
}

}  // namespace
}  // namespace fettle::tune
