// How much thought plans are worth: plain thought while boards are busy, less while they wait.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "host/tune/background.h"
#include "host/tune/pace.h"
#include "tests/unit/tune_objective.h"
#include "tests/unit/tune_rig.h"

namespace fettle::tune {
namespace {

using namespace doubles;

constexpr double kMs = 1e6;

void add(Pace& pace, int trials, double busy_ms, double waited_ms) {
  for (int i = 0; i < trials; ++i) pace.add(busy_ms * kMs, waited_ms * kMs);
}

TEST(Pace, IsPlainWhileBoardsAreBusy) {
  Pace pace;
  EXPECT_EQ(pace.thought(), 1);
  add(pace, 100, 40, 1);
  EXPECT_EQ(pace.thought(), 1);
}

TEST(Pace, FallsWhileBoardsWaitAndComesBack) {
  Pace pace;
  add(pace, 10, 40, 20);
  EXPECT_LT(pace.thought(), 0.9);
  EXPECT_GT(pace.thought(), 0.75) << "little by little";
  add(pace, 200, 40, 20);
  EXPECT_EQ(pace.thought(), Pace::kLeastThought);
  add(pace, 200, 40, 0);
  EXPECT_EQ(pace.thought(), 1);
}

// By time, not by trials: many short ones that wait for nothing make up for no long wait, and one
// that waited long among many says little once those behind it did not.
TEST(Pace, WeighsTrialsByTheirTime) {
  Pace waits, works;
  for (int i = 0; i < 100; ++i) {
    waits.add(1 * kMs, i % 4 == 0 ? 2 * kMs : 0);
    works.add(40 * kMs, i % 4 == 0 ? 2 * kMs : 0);
  }
  EXPECT_EQ(waits.thought(), Pace::kLeastThought);
  EXPECT_GT(works.thought(), 0.9);
}

TEST(Pace, OfTrialsWithoutTimesIsPlain) {
  Pace pace;
  add(pace, 10, 0, 0);
  EXPECT_EQ(pace.thought(), 1);
}

TEST(TuneLoop, TellsThePaceHowLongBoardsWaited) {
  for (const double waited_ms : {0.0, 500.0}) {
    Rig rig(grid(4, 8));
    rig.options.trials = 60;
    rig.runner = ScriptedRunner([&](std::uint64_t, const wire::MeasureRequestT&) {
      auto outcome = measurement(1e6);
      outcome.times->total_ns = 1'000'000'000;
      outcome.times->idle_before_ns = static_cast<std::uint64_t>(waited_ms * kMs);
      return outcome;
    });
    Pace pace;
    rig.pace = &pace;
    rig.run();
    EXPECT_EQ(pace.thought(), waited_ms > 0 ? Pace::kLeastThought : 1);
  }
}

// So many trials of a search whose plans are made beside the loop. `others`: other tasks' plans are
// always being made there, so that each of its own is used up.
SearchStatistics searched(const Pace& pace, bool others) {
  const space::SearchSpace space = grid(6, 8);
  Background background;
  SearcherOptions options;
  options.seed = 5;
  options.background = &background;
  options.pace = &pace;
  options.feature_count = 6;
  options.features = [](const space::Configuration& c) -> Result<std::vector<float>> {
    return std::vector<float>(c.choice.begin(), c.choice.end());
  };
  auto search = make_searcher("evolutionary", space, options).value();
  for (int trial = 0; trial < 100; ++trial) {
    for (int i = 0; i < 2000 && !others && !(search->ready() && background.idle()); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (others) background.post([] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); });
    const auto proposal = search->propose(1).at(0);
    search->observe({proposal, separable(proposal), false, {}});
  }
  return search->statistics();
}

TEST(Searcher, MakesFewerPlansOfFewerCandidatesWhileBoardsWaitForThem) {
  Pace busy, waiting;
  add(waiting, 100, 40, 40);
  const SearchStatistics plain = searched(busy, true), paced = searched(waiting, true);
  EXPECT_GT(paced.plans, 0u);
  EXPECT_LT(paced.plans, plain.plans);
  EXPECT_LT(static_cast<double>(paced.lowered), 0.8 * static_cast<double>(plain.lowered));
  EXPECT_EQ(plain.mean_thought(), 1);
  EXPECT_LT(paced.mean_thought(), 0.6);
}

// Boards that wait for something else, builds of another machine or a slow network, gain nothing.
TEST(Searcher, ThinksPlainlyWhereItsPlansAreInTime) {
  Pace waiting;
  add(waiting, 100, 40, 40);
  EXPECT_EQ(searched(waiting, false).mean_thought(), 1);
}

}  // namespace
}  // namespace fettle::tune
