// What looks at a core say of its neighbours; and the gauge, on this machine's core.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/bench/neighbours/core_gauge.h"
#include "tests/bench/neighbours/neighbours.h"

namespace fettle::bench {
namespace {

// A look a millisecond: the first `alone` without a neighbour, the others beside one.
std::vector<Look> looks(int alone, int beside) {
  std::vector<Look> out;
  for (int i = 0; i < alone + beside; ++i) out.push_back({1e-3 * i, i < alone ? 1.0 : 1.5});
  return out;
}

TEST(Neighbours, AreSeenWhereTheGaugeChanges) {
  const Neighbours seen = neighbours_of(looks(300, 100));
  EXPECT_EQ(seen.looks, 400u);
  EXPECT_DOUBLE_EQ(seen.alone_gauge, 1);
  EXPECT_DOUBLE_EQ(seen.crowded_share, 0.25);
  EXPECT_DOUBLE_EQ(seen.slowdown, 1.5);
  EXPECT_NEAR(seen.longest_crowded_s, 0.099, 1e-9);
  EXPECT_NEAR(seen.longest_alone_s, 0.299, 1e-9);
}

TEST(Neighbours, AreNotSeenWhereItNeverDoes) {
  for (const auto& same : {looks(100, 0), looks(0, 100)}) {
    const Neighbours seen = neighbours_of(same);
    EXPECT_EQ(seen.crowded_share, 0);
    EXPECT_EQ(seen.slowdown, 1);
    EXPECT_EQ(seen.longest_crowded_s, 0);
  }
  EXPECT_EQ(neighbours_of({}).looks, 0u);
}

// An interrupt in the chained loop makes the other look fast.
TEST(Neighbours, AreNotMadeUpByAFewSpoiledLooks) {
  std::vector<Look> some = looks(200, 0);
  for (const std::size_t spoiled : {5u, 50u, 150u}) some[spoiled].gauge = 0.3;
  EXPECT_EQ(neighbours_of(some).crowded_share, 0);
}

// Not more than a core can issue, not less than one that takes turns, and the same each time. It
// does not show that the loops stay in registers: that is for their assembly to tell.
TEST(Neighbours, TheGaugeIsAConstantOfTheCore) {
  std::vector<double> least;
  for (int turn = 0; turn < 3; ++turn) {
    double smallest = 1e9;
    for (int i = 0; i < 300; ++i) smallest = std::min(smallest, core_gauge());
    least.push_back(smallest);
    EXPECT_GT(smallest, 0.2) << "more instructions a cycle than any core issues";
    EXPECT_LT(smallest, 6)
        << "four times as many independent instructions as dependent ones, and a sibling";
  }
  const auto [low, high] = std::minmax_element(least.begin(), least.end());
  EXPECT_LT(*high, 2 * *low);
}

}  // namespace
}  // namespace fettle::bench
