// Niches of a space, and their champions.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "host/tune/niches.h"

namespace fettle::tune {
namespace {

using space::Configuration;

// A tile of 2x3 sizes, a switch, and a knob with more options than are told apart.
space::SearchSpace tiles() {
  space::Sketch sketch{"tiles", {}};
  space::Knob tile{"tile", {}};
  for (int height = 1; height <= 2; ++height) {
    for (int width = 4; width <= 6; ++width) tile.options.push_back({height, width});
  }
  space::Knob many{"many", {}};
  for (int i = 0; i < 13; ++i) many.options.push_back({i});
  sketch.knobs = {tile, {"switch", {{0}, {1}}}, many, {"fixed", {{7}}}};
  return space::SearchSpace({sketch});
}

TEST(Niches, AreTheNumbersOfOptionsThatDifferInFewValues) {
  const Niches niches(tiles());
  EXPECT_EQ(niches.count(), 2u + 3u + 2u);
  const auto of = [&](std::vector<std::uint32_t> choice) {
    const auto all = niches.of({0, std::move(choice)});
    EXPECT_EQ(all.size(), 3u) << "a height, a width and the switch";
    return std::set<std::size_t>(all.begin(), all.end());
  };
  EXPECT_EQ(of({0, 0, 0, 0}), of({0, 0, 12, 0}));
  std::set<std::size_t> common;  // of 1x4 and 2x4
  const auto low = of({0, 0, 0, 0}), high = of({3, 0, 0, 0});
  std::set_intersection(low.begin(), low.end(), high.begin(), high.end(),
                        std::inserter(common, common.end()));
  EXPECT_EQ(common.size(), 2u) << "the width and the switch";
}

TEST(Niches, SketchesHaveNoneInCommon) {
  const space::Sketch sketch{"one", {{"switch", {{0}, {1}}}}};
  const Niches niches(space::SearchSpace({sketch, sketch}));
  EXPECT_EQ(niches.count(), 4u);
  EXPECT_NE(niches.of({0, {1}}), niches.of({1, {1}}));
}

TEST(Champions, AreTheFirstOfTheirNiches) {
  const Niches niches(tiles());
  const Configuration best{0, {0, 0, 0, 0}}, twin{0, {0, 0, 5, 0}}, wide{0, {2, 0, 0, 0}},
      other{0, {2, 1, 0, 0}}, last{0, {2, 1, 3, 0}};
  EXPECT_EQ(champions(niches, {&best, &twin, &wide, &other, &last}),
            (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_TRUE(champions(niches, {}).empty());
}

}  // namespace
}  // namespace fettle::tune
