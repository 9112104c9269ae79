// OpenChanges: which changes of one knob of the fastest trials no trial tells anything of.
#include <gtest/gtest.h>

#include <set>

#include "host/tune/open_changes.h"
#include "tests/unit/tune_doubles.h"

namespace fettle::tune {
namespace {

using space::Configuration;
using Choices = std::set<std::vector<std::uint32_t>>;

Choices open(const space::SearchSpace& space, const std::vector<Knowledge::Trial>& trials) {
  const OpenChanges changes(space, trials);
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

TEST(OpenChanges, KnobsOfManyOptionsAreTheModels) {
  const space::SearchSpace space = doubles::grid(2, 40);
  EXPECT_TRUE(open(space, {trial({0, 0}, 100)}).empty());
}

}  // namespace
}  // namespace fettle::tune
