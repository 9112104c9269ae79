// Searchers on synthetic objectives, and the round robin.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
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

TEST(RoundRobin, TasksLeftBehindCatchUpFirst) {
  auto scheduler = make_round_robin();
  std::vector<TaskState> tasks(3);
  tasks[0].proposed = tasks[2].proposed = 5;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(scheduler->next(tasks), 1u);
    ++tasks[1].proposed;
  }
  EXPECT_EQ(scheduler->next(tasks), 2u);
}

TEST(RoundRobin, PassesOverWhatIsNotReadyWhileOthersAre) {
  auto scheduler = make_round_robin();
  std::vector<TaskState> tasks(3);
  tasks[0].ready = false;
  EXPECT_EQ(scheduler->next(tasks), 1u);
  tasks[1].ready = tasks[2].ready = false;
  EXPECT_TRUE(scheduler->next(tasks).has_value());
}

// A session on known curves: best(n) = floor * (1 + gap / n).
std::vector<std::uint32_t> shares(std::vector<TaskState> tasks, const std::vector<double>& floors,
                                  const std::vector<double>& gaps, int trials) {
  auto scheduler = make_gradient(1);
  for (int i = 0; i < trials; ++i) {
    const std::size_t next = scheduler->next(tasks).value();
    TaskState& task = tasks[next];
    ++task.proposed;
    ++task.finished;
    task.best_nanoseconds = floors[next] * (1 + gaps[next] / task.finished);
  }
  std::vector<std::uint32_t> result;
  for (const TaskState& task : tasks) result.push_back(task.finished);
  return result;
}

std::vector<TaskState> kinds(std::size_t count) {
  std::vector<TaskState> tasks(count);
  for (std::size_t i = 0; i < count; ++i) tasks[i].kind = std::to_string(i);
  return tasks;
}

TEST(Gradient, EveryTaskHasItsFirstTrialsAndTheLargestTimesGetMost) {
  const auto seen = shares(kinds(3), {1e6, 1e4, 1e5}, {5, 5, 5}, 2000);
  EXPECT_GT(seen[0], seen[2]);
  EXPECT_GT(seen[2], seen[1]);
  EXPECT_GT(seen[0], 1000u);
  // A hundredth of the time is not a hundredth of the trials.
  EXPECT_GT(seen[1], 100u);
}

TEST(Gradient, WeightsCount) {
  std::vector<TaskState> tasks = kinds(2);
  tasks[1].weight = 10;
  const auto seen = shares(tasks, {1e5, 1e5}, {5, 5}, 2000);
  EXPECT_GT(seen[1], 2 * seen[0]);
}

// 0 can still become twice as fast; 1 and 2 take longer, but lie at the roofline.
TEST(Gradient, ATaskAtItsRooflineGetsNoMore) {
  std::vector<TaskState> tasks = kinds(3);
  for (TaskState& task : tasks) task.least_nanoseconds = 1e6;
  tasks[0].least_nanoseconds = 5e4;
  const auto seen = shares(tasks, {1e5, 1.02e6, 0.98e6}, {1, 0, 0}, 1000);
  EXPECT_EQ(seen[1], 16u);
  EXPECT_EQ(seen[2], 16u);
  EXPECT_EQ(seen[0], 968u);
}

TEST(Gradient, OneThatIsReadyGoesFirstButNotOneThatIsDone) {
  std::vector<TaskState> tasks = kinds(3);
  for (TaskState& task : tasks) {
    task.proposed = task.finished = 20;
    task.best_nanoseconds = 1e6;
  }
  tasks[0].best_nanoseconds = tasks[0].least_nanoseconds = 1e5;
  tasks[1].ready = false;
  for (int i = 0; i < 40; ++i) EXPECT_EQ(make_gradient(i)->next(tasks), 2u);
  tasks[2].ready = false;
  for (int i = 0; i < 40; ++i) EXPECT_NE(make_gradient(i)->next(tasks), 0u);
}

TEST(Gradient, OneFarBehindItsShareIsWaitedFor) {
  std::vector<TaskState> tasks = kinds(2);
  for (TaskState& task : tasks) task.best_nanoseconds = 1e6;
  tasks[0].proposed = tasks[0].finished = 400;
  tasks[1].proposed = tasks[1].finished = 40;
  tasks[1].ready = false;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(make_gradient(i)->next(tasks), 1u);
  tasks[1].proposed = tasks[1].finished = 120;  // no longer below half of it
  for (int i = 0; i < 20; ++i) EXPECT_EQ(make_gradient(i)->next(tasks), 0u);
}

TEST(Gradient, WhereAllAreDoneTrialsGoOn) {
  std::vector<TaskState> tasks = kinds(2);
  for (TaskState& task : tasks) task.least_nanoseconds = 1e6;
  const auto seen = shares(tasks, {1e6, 1e6}, {0, 0}, 400);
  for (std::uint32_t count : seen) EXPECT_GT(count, 100u);
}

// The nearer to the roofline, the less a trial can be worth.
TEST(Gradient, TrialsGoWhereThereIsRoomBelow) {
  std::vector<TaskState> tasks = kinds(2);
  tasks[0].least_nanoseconds = 0.9e6;
  tasks[1].least_nanoseconds = 0.2e6;
  const auto seen = shares(tasks, {1e6, 1e6}, {0, 0}, 1000);
  EXPECT_GT(seen[1], 3 * seen[0]);
}

// A time well below the roofline shows that this one does not hold.
TEST(Gradient, ARooflineThatWasBeatenBoundsNothing) {
  std::vector<TaskState> tasks = kinds(2);
  tasks[0].least_nanoseconds = 2e6;
  const auto seen = shares(tasks, {1e6, 1e6}, {0, 0}, 400);
  EXPECT_GT(seen[0], 100u);
}

TEST(Gradient, ATaskFarBehindItsLikeIsTriedHarder) {
  std::vector<TaskState> tasks = kinds(3);
  tasks[0].kind = tasks[1].kind = "conv2d";
  for (TaskState& task : tasks) task.operations = 1e8;
  // Of equal size and time, but 0 could be as fast as 1, which is 20 times as fast.
  tasks[2].operations = 0;
  const auto seen = shares(tasks, {1e6, 5e4, 1e6}, {0.01, 0.01, 0.01}, 2000);
  EXPECT_GT(seen[0], 2 * seen[2]);
}

// A 7x7 layer beside 3x3 ones that Winograd's algorithm makes three times as fast.
TEST(Gradient, ATaskThatCannotFollowItsLikeDoesNotTakeAll) {
  std::vector<TaskState> tasks = kinds(4);
  for (TaskState& task : tasks) task.kind = "conv2d", task.operations = 1e8;
  const auto seen = shares(tasks, {2e6, 5e5, 5e5, 5e5}, {0.01, 0.01, 0.01, 0.01}, 4000);
  EXPECT_LT(seen[0], 3600u);
  for (std::uint32_t count : seen) EXPECT_GT(count, 100u);
}

// A network's light layers, which a gradient alone leaves at their first trials.
TEST(Gradient, LightTasksHaveThreeQuartersOfTheMeanShareWhileTheyImprove) {
  const auto seen = shares(kinds(4), {1e6, 1e6, 1e4, 1e3}, {5, 5, 5, 5}, 400);
  for (std::uint32_t count : seen) EXPECT_GE(count, 74u);
  EXPECT_GT(seen[0] + seen[1], 200u);
}

// Two that lie at the roofline count for nothing in what is the others' share.
TEST(Gradient, WhatDoneTasksDoNotNeedIsShared) {
  std::vector<TaskState> tasks = kinds(4);
  for (std::size_t i : {0u, 1u}) tasks[i].least_nanoseconds = 1e6;
  const auto seen = shares(tasks, {1e6, 1e6, 1e5, 1e3}, {0, 0, 5, 5}, 600);
  EXPECT_EQ(seen[0] + seen[1], 32u);
  EXPECT_GE(seen[3], 200u);
}

TEST(Gradient, ALightTaskThatStandsStillIsLeftAlone) {
  const auto seen = shares(kinds(4), {1e6, 1e6, 1e6, 1e3}, {5, 5, 5, 0}, 2000);
  EXPECT_GE(seen[3], 64u);
  EXPECT_LT(seen[3], 160u);  // its half of the mean would be 250; draws of any task add some
}

TEST(Gradient, TasksLeftBehindByAnEarlierSessionCatchUpFirst) {
  std::vector<TaskState> tasks = kinds(2);
  tasks[0].proposed = tasks[0].finished = 200;
  tasks[0].best_nanoseconds = 1e9;
  auto scheduler = make_gradient(3);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(scheduler->next(tasks), 1u);
    ++tasks[1].proposed;
  }
  tasks[0].exhausted = tasks[1].exhausted = true;
  EXPECT_EQ(scheduler->next(tasks), std::nullopt);
}

TEST(Scheduler, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  EXPECT_TRUE(make_scheduler("round-robin", 0).ok());
  EXPECT_TRUE(make_scheduler("gradient", 0).ok());
  EXPECT_EQ(make_scheduler("fair", 0).error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace fettle::tune
