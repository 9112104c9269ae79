// Searchers on synthetic objectives, and the round robin.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

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

TEST(Searcher, EvolutionaryBeatsRandomOnASeparableObjective) {
  const SearchSpace space = grid(6, 8);  // 262144 points, the best is 100
  int wins = 0;
  double evolutionary_sum = 0, random_sum = 0;
  constexpr int kSeeds = 60;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const double evolutionary = best_after("evolutionary", space, seed, 200);
    const double random = best_after("random", space, seed, 200);
    wins += evolutionary < random;
    evolutionary_sum += evolutionary - 100;
    random_sum += random - 100;
  }
  // By chance alone 48 of 60 has a probability below 2e-6 (sign test).
  EXPECT_GE(wins, 48);
  EXPECT_LT(evolutionary_sum, random_sum / 3);
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
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto search = searcher("evolutionary", space, seed);
    double best = 1e9;
    for (int i = 0; i < 400; ++i) {
      const Configuration proposal = search->propose(1).at(0);
      const double value = separable(proposal);
      Observation observation{proposal, value, false, {}};
      if (proposal.choice[5] == 0) {
        observation.nanoseconds.reset();  // a third of the way to nowhere
      } else if (value > best * 1.2) {
        observation.nanoseconds = best * 1.2;  // stopped by racing
        observation.censored = true;
      } else {
        best = std::min(best, value);
      }
      search->observe(observation);
    }
    reached += best <= 102;
  }
  EXPECT_GE(reached, 17);
}

TEST(Searcher, AnUnknownNameIsAnswerdWithTheKnownOnes) {
  const SearchSpace space = grid(1, 2);
  const auto made = make_searcher("annealing", space, {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::NotFound);
  for (const std::string& name : searcher_names()) {
    EXPECT_NE(made.error().message.find(name), std::string::npos);
  }
}

TEST(RoundRobin, TakesTurnsAndSkipsExhaustedTasks) {
  auto scheduler = make_round_robin();
  std::vector<TaskState> tasks(3);
  std::vector<std::size_t> turns;
  for (int i = 0; i < 4; ++i) turns.push_back(*scheduler->next(tasks));
  EXPECT_EQ(turns, (std::vector<std::size_t>{0, 1, 2, 0}));
  tasks[1].exhausted = true;
  EXPECT_EQ(scheduler->next(tasks), 2u);
  EXPECT_EQ(scheduler->next(tasks), 0u);
  tasks[0].exhausted = tasks[2].exhausted = true;
  EXPECT_EQ(scheduler->next(tasks), std::nullopt);
}

}  // namespace
}  // namespace fettle::tune
