// What every searcher keeps to, each against random search, and simulated annealing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <set>

#include "host/tune/annealing.h"
#include "host/tune/started_searcher.h"
#include "tests/unit/tune_doubles.h"
#include "tests/unit/tune_objective.h"

namespace fettle::tune {
namespace {

using doubles::grid;
using doubles::searcher;
using doubles::separable;
using space::Configuration;
using space::SearchSpace;

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
  for (const char* name : {"xgb-knob", "xgb-itervar"}) {
    const Comparison seen = against_random(name, 6, 200);
    EXPECT_EQ(seen.losses, 0) << name;
    EXPECT_LT(seen.sum, seen.random_sum / 2) << name;
  }
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

// Every searcher proposes what fulfils the constraint, all of it, and then nothing.
TEST(Searcher, ConstraintsAreKept) {
  std::vector<space::Sketch> sketches = grid(3, 5).sketches();
  const auto& knobs = sketches[0].knobs;
  sketches[0].constraints.push_back(
      {"the first is not the second's",
       {knobs[0].name, knobs[1].name},
       [](std::span<const space::KnobValue* const> v) { return *v[0] != *v[1]; }});
  const SearchSpace space(sketches);
  for (const std::string& name : searcher_names()) {
    SearcherOptions options;
    options.seed = 6;
    options.feature_count = 1;
    options.itervar_features = doubles::choices_reversed;
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

// Two sketches of many options, of which the estimate takes the second for a thousand times slower.
struct TwoSketches {
  SearchSpace space = [] {
    const space::Sketch one = grid(2, 64).sketches()[0];
    space::Sketch other = one;
    other.name = "other";
    return SearchSpace({one, other});
  }();
  std::unique_ptr<Searcher> evolutionary() const {
    SearcherOptions options;
    options.seed = 5;
    options.feature_count = 1;
    options.estimate = 0;
    options.features = [](const Configuration& c) -> Result<std::vector<float>> {
      return std::vector<float>{static_cast<float>(std::log2(separable(c)) + 10 * c.sketch)};
    };
    return make_searcher("evolutionary", space, options).value();
  }
  // Of so many trials, those of the second sketch.
  static int of_other(Searcher& search, int trials) {
    int other = 0;
    for (int i = 0; i < trials; ++i) {
      const Configuration c = search.propose(1).at(0);
      other += c.sketch == 1;
      search.observe({c, separable(c) * (c.sketch == 1 ? 1000 : 1), false, {}});
    }
    return other;
  }
};

TEST(Searcher, TheFirstTrialsHoldEverySketchWhateverTheEstimate) {
  const TwoSketches two;
  EXPECT_GE(TwoSketches::of_other(*two.evolutionary(), 8), 1);
}

TEST(Searcher, ASketchHardlyTriedGetsTrials) {
  const TwoSketches two;
  auto search = two.evolutionary();
  std::mt19937_64 rng(1);
  for (int i = 0; i < 40; ++i) {
    Configuration c = two.space.random(rng);
    c.sketch = 0;
    search->observe({c, separable(c), false, {}});
  }
  EXPECT_GE(TwoSketches::of_other(*search, 32), 3);
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
                         [](const auto& info) { return doubles::test_name(info.param); });

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

TEST(StartedSearcher, GivenConfigurationsComeFirstAndOnce) {
  const SearchSpace space = grid(2, 4);
  const Configuration a{0, {1, 2}}, b{0, {3, 3}}, c{0, {0, 1}};
  const auto search = make_started(searcher("random", space, 1), {a, b, a, c});
  search->observe({b, 1.0, false, {}});  // as a resumed session knows it
  EXPECT_TRUE(search->ready());
  EXPECT_EQ(search->propose(1), std::vector{a});
  std::vector<Configuration> all{a, b};
  for (std::size_t more = 3; true;) {
    const auto proposals = search->propose(more);
    if (proposals.empty()) break;
    if (all.size() == 2) {
      EXPECT_EQ(proposals.front(), c);
    }
    all.insert(all.end(), proposals.begin(), proposals.end());
  }
  EXPECT_EQ(all.size(), 16u) << "all of the space";
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(std::count(all.begin(), all.end(), all[i]), 1) << i;
  }
}

}  // namespace
}  // namespace fettle::tune
