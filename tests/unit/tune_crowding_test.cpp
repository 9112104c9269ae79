// Crowding: what is close to many trials loses, the more the longer the search stands.
#include <gtest/gtest.h>

#include "host/tune/crowding.h"
#include "tests/unit/tune_doubles.h"

namespace fettle::tune {
namespace {

using space::Configuration;

Knowledge::Trial trial(std::vector<std::uint32_t> choice, double nanoseconds) {
  return {{0, std::move(choice)}, nanoseconds, false, {}};
}

TEST(Crowding, WhatIsCloseToMoreTrialsLosesMore) {
  const space::SearchSpace space = doubles::grid(4, 4);
  const std::vector<Knowledge::Trial> trials = {trial({0, 0, 0, 0}, 100), trial({0, 0, 0, 1}, 90)};
  const Crowding crowding(space, trials);
  const double near = crowding.of({0, {0, 0, 0, 2}}), far = crowding.of({0, {3, 3, 3, 3}});
  EXPECT_GT(near, far);
  EXPECT_GT(far, 0);
  EXPECT_LT(near, 0.05) << "a few per cent of time: no more than the model is unsure of";
  EXPECT_EQ(Crowding().of({0, {0, 0, 0, 0}}), 0);
}

TEST(Crowding, ASearchThatStandsIsSentAway) {
  const space::SearchSpace space = doubles::grid(4, 4);
  std::vector<Knowledge::Trial> falling, standing;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::vector<std::uint32_t> choice = {0, 0, i % 4, i / 4 % 4};
    falling.push_back(trial(choice, 1000 - 24.0 * i));
    standing.push_back(trial(choice, i == 0 ? 100 : 200));
  }
  const Configuration here{0, {0, 0, 1, 1}};
  EXPECT_GT(Crowding(space, standing).of(here), 3 * Crowding(space, falling).of(here));
}

TEST(Crowding, SketchesDoNotCrowdOneAnother) {
  std::vector<space::Sketch> sketches = doubles::grid(2, 4).sketches();
  sketches.push_back(sketches.front());
  sketches.back().name = "other";
  const space::SearchSpace space(sketches);
  const std::vector<Knowledge::Trial> trials = {trial({0, 0}, 100)};
  EXPECT_EQ(Crowding(space, trials).of({1, {0, 0}}), 0);
}

}  // namespace
}  // namespace fettle::tune
