// OpenChanges: which changes of one knob of the fastest trials no trial tells anything of.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "host/tune/open_changes.h"
#include "tests/unit/tune_doubles.h"

namespace fettle::tune {
namespace {

using space::Configuration;
using Choices = std::set<std::vector<std::uint32_t>>;

using Predicate = std::function<bool(const Configuration&)>;

Choices open(
    const space::SearchSpace& space, const std::vector<Knowledge::Trial>& trials,
    const Predicate& tells_nothing = [](const Configuration&) { return false; },
    std::uint64_t seed = 1) {
  std::mt19937_64 rng(seed);
  const OpenChanges changes(space, trials, tells_nothing, rng);
  Choices choices;
  for (const Configuration& change : changes.all()) {
    EXPECT_TRUE(changes.contains(change));
    choices.insert(change.choice);
  }
  return choices;
}

Knowledge::Trial trial(std::vector<std::uint32_t> choice, double nanoseconds) {
  return {{0, std::move(choice)}, nanoseconds, false, {}};
}

TEST(OpenChanges, OfOneTrialAreAllItsNeighbours) {
  const space::SearchSpace space = doubles::grid(3, 3);
  EXPECT_EQ(open(space, {trial({1, 1, 1}, 100)}),
            (Choices{{0, 1, 1}, {2, 1, 1}, {1, 0, 1}, {1, 2, 1}, {1, 1, 0}, {1, 1, 2}}));
  EXPECT_TRUE(open(space, {}).empty());
  EXPECT_TRUE(open(space, {trial({1, 1, 1}, 0)}).empty()) << "a failure is nothing to start from";
}

TEST(OpenChanges, AnOptionInBadCompanyIsNotAnsweredFor) {
  const space::SearchSpace space = doubles::grid(3, 3);
  // The options 2 of all knobs were met, in a slow program that has nothing of the fast one.
  const Choices choices = open(space, {trial({0, 0, 0}, 100), trial({2, 2, 2}, 1000)});
  EXPECT_TRUE(choices.contains({2, 0, 0}));
  EXPECT_TRUE(choices.contains({0, 0, 2}));
  EXPECT_EQ(choices.size(), 6u);
}

TEST(OpenChanges, AreFewAndOfTheKnobsWithTheFewestOptionsFirst) {
  space::Sketch sketch{"grid", {}};
  for (const int options : {7, 2, 3}) {
    space::Knob knob{"of " + std::to_string(options), {}};
    for (int i = 0; i < options; ++i) knob.options.push_back({i});
    sketch.knobs.push_back(knob);
  }
  EXPECT_EQ(open(space::SearchSpace({sketch}), {trial({0, 0, 0}, 100)}),
            (Choices{{0, 1, 0}, {0, 0, 1}, {0, 0, 2}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}}));
}

TEST(OpenChanges, ASlowOrFailedNeighbourIsAnAnswer) {
  const space::SearchSpace space = doubles::grid(4, 3);
  const Choices choices =
      open(space, {trial({0, 0, 0, 0}, 100), trial({2, 1, 0, 0}, 1000), trial({0, 0, 2, 0}, 0)});
  EXPECT_FALSE(choices.contains({2, 0, 0, 0}));
  EXPECT_FALSE(choices.contains({0, 1, 0, 0}));
  EXPECT_FALSE(choices.contains({0, 0, 2, 0}));
  EXPECT_EQ(choices.size(), 5u);
}

TEST(OpenChanges, WhatTellsNothingLeavesItsPlaceToAnother) {
  const space::SearchSpace space = doubles::grid(4, 3);
  const Choices all = open(space, {trial({0, 0, 0, 0}, 100)});
  ASSERT_EQ(all.size(), 6u);
  EXPECT_FALSE(all.contains({0, 0, 0, 2}));
  // The first knob changes nothing.
  const Choices others = open(space, {trial({0, 0, 0, 0}, 100)},
                              [](const Configuration& change) { return change.choice[0] != 0; });
  EXPECT_EQ(others.size(), 6u);
  EXPECT_FALSE(others.contains({1, 0, 0, 0}));
  EXPECT_TRUE(others.contains({0, 0, 0, 1}));
  EXPECT_TRUE(others.contains({0, 0, 0, 2}));
}

TEST(OpenChanges, OfAKnobWithManyOptionsAFewAreDrawn) {
  const space::SearchSpace space = doubles::grid(2, 40);
  const auto draw = [&](std::uint64_t seed) {
    return open(
        space, {trial({0, 0}, 100), trial({1, 0}, 1000)},
        [](const Configuration&) { return false; }, seed);
  };
  const Choices drawn = draw(1);
  EXPECT_EQ(drawn.size(), 32u);
  EXPECT_FALSE(drawn.contains({1, 0})) << "it was tried";
  for (const auto& choice : drawn) EXPECT_TRUE((choice[0] == 0) != (choice[1] == 0));
  EXPECT_NE(drawn, draw(2)) << "the next plan sees others";
}

}  // namespace
}  // namespace fettle::tune
