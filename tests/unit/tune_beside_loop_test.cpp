// The evolutionary searcher's plans that are made beside the loop.
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
using doubles::separable;
using space::Configuration;
using space::SearchSpace;

// Made beside the loop or not, the first plan is what a search begins with: no draws.
TEST(Searcher, TheFirstPlanIsWaitedFor) {
  const SearchSpace space = grid(6, 8);
  Background background;
  SearcherOptions options = knowing_all(4);
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

// Beside the loop as well: no trial is a blind one.
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
  for (; trials < 80; ++trials) {
    const auto proposal = search->propose(1).at(0);
    search->observe({proposal, separable(proposal), false, {}});
  }
  closed.lock();
  // What is planned can still be had, then it waits.
  for (; search->ready() && trials < 120; ++trials) search->propose(1);
  EXPECT_LT(trials, 120u);
  closed.unlock();
  EXPECT_EQ(search->propose(1).size(), 1u);
  EXPECT_GE(search->statistics().plans, 4u);
}

// 64 programs, 64 times each: two of the space's four knobs change nothing.
std::uint32_t program_of(const Configuration& c) { return 8 * c.choice[0] + c.choice[1]; }
double time_of(const Configuration& c) { return 100.0 + c.choice[0] + c.choice[1]; }

// How many of so many trials, up to `most` of them under way at a time, are of a program that an
// earlier one was of. Plans are made beside the loop.
std::size_t programs_again(SearcherOptions options, int trials, std::size_t most) {
  const SearchSpace space = grid(4, 8);
  Background background;
  options.background = &background;
  auto search = make_searcher("evolutionary", space, options).value();
  std::set<std::uint32_t> tried;
  std::deque<Configuration> under_way;
  std::size_t again = 0;
  const auto end_first = [&] {
    search->observe({under_way.front(), time_of(under_way.front()), false, {}});
    under_way.pop_front();
  };
  for (int i = 0; i < trials; ++i) {
    for (int wait = 0; wait < 2000 && !search->ready() && !under_way.empty(); ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (wait % 8 == 7) end_first();
    }
    under_way.push_back(search->propose(1).at(0));
    again += !tried.insert(program_of(under_way.back())).second;
    if (under_way.size() == most) end_first();
  }
  return again;
}

// A plan knows nothing of what is proposed while it is being made: programs that look the same as
// one of these are left out of it.
TEST(Searcher, PlansBesideTheLoopProposeNoProgramTwice) {
  SearcherOptions options;
  options.feature_count = 1;
  options.features = [](const Configuration& c) -> Result<std::vector<float>> {
    return std::vector<float>{static_cast<float>(program_of(c))};
  };
  std::size_t again = 0;
  for (options.seed = 1; options.seed <= 4; ++options.seed) again += programs_again(options, 32, 4);
  EXPECT_LE(again, 4 * 32 / 10u) << "but for draws whatever the model says";
}

// Nor one of the first plan's, which are under way when the second plan is made.
TEST(Searcher, TheSecondPlanHasNoProgramOfTheFirst) {
  SearcherOptions options;
  options.feature_count = 2;
  options.estimate = 1;
  options.features = [](const Configuration& c) -> Result<std::vector<float>> {
    return std::vector<float>{static_cast<float>(program_of(c)),
                              static_cast<float>(std::log2(time_of(c)))};
  };
  std::size_t again = 0;
  for (options.seed = 1; options.seed <= 12; ++options.seed)
    again += programs_again(options, 16, 6);
  EXPECT_LE(again, 2u) << "but for draws whatever the model says";
}

// As long as the first plan's trials are under way nothing new is known, and no plan is made.
TEST(Searcher, WaitsForTheFirstTrialsBeforeItPlansAgain) {
  const SearchSpace space = grid(6, 8);
  Background background;
  SearcherOptions options = knowing_all(5);
  options.background = &background;
  auto search = make_searcher("evolutionary", space, options).value();
  const auto waits = [&] {
    for (int i = 0; i < 40 && !search->ready(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return !search->ready();
  };
  ASSERT_FALSE(waits());
  std::vector<Configuration> begun;
  while (search->ready()) begun.push_back(search->propose(1).at(0));
  const std::size_t lowered = search->statistics().lowered;
  EXPECT_GT(lowered, 128u);
  EXPECT_TRUE(waits());
  EXPECT_EQ(search->statistics().lowered, lowered);
  EXPECT_EQ(search->statistics().plans, 0u);
  for (const Configuration& each : begun) search->observe({each, separable(each), false, {}});
  for (int i = 0; i < 2000 && !search->ready(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(search->ready());
  EXPECT_EQ(search->statistics().plans, 1u);
}

// A plan that is not used up can wait: other tasks have none.
TEST(Searcher, RenewsAPlanOnlyWhileTheThreadHasNothingElseToDo) {
  const SearchSpace space = grid(6, 8);
  std::mutex gate;
  Background background;
  SearcherOptions options = knowing_all(5);
  options.background = &background;
  auto search = make_searcher("evolutionary", space, options).value();
  const auto try_one = [&] {
    const Configuration next = search->propose(1).at(0);
    search->observe({next, separable(next), false, {}});
  };
  const auto wait = [&] {
    for (int i = 0; i < 2000 && !background.idle(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return background.idle();
  };
  for (int i = 0; i < 80; ++i) {
    try_one();
    ASSERT_TRUE(wait());
  }
  const std::size_t plans = search->statistics().plans;
  EXPECT_GE(plans, 8u) << "renewed before they ended";
  {
    const std::lock_guard closed(gate);
    background.post([&] { const std::lock_guard waits(gate); });
    for (int i = 0; i < 8; ++i) try_one();
  }
  ASSERT_TRUE(wait());
  EXPECT_EQ(search->statistics().plans, plans);
  try_one();
  ASSERT_TRUE(wait());
  EXPECT_EQ(search->statistics().plans, plans + 1);
}

}  // namespace
}  // namespace fettle::tune
