// Search spaces: size, numbering, names, and what a sketch offers on each target.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

#include "host/space/sketches/cpu_tiled.h"
#include "host/space/sketches/sketches.h"
#include "host/space/sketches/steps.h"
#include "host/space/workload.h"
#include "tests/property/random_workload.h"

namespace fettle::space {
namespace {

SearchSpace small() {
  return SearchSpace({{"a", {{"tile", {{1, 4}, {2, 2}, {4, 1}}}, {"unroll", {{0}, {8}}}}},
                      {"b", {{"x", {{1}, {2}}}}}});
}

TEST(SpaceSearchSpace, AtNumbersEveryConfigurationOnce) {
  const SearchSpace space = small();
  ASSERT_EQ(space.size(), 8);
  std::set<std::string> seen;
  for (int i = 0; i < 8; ++i) seen.insert(space.to_json(space.at(i)));
  EXPECT_EQ(seen.size(), 8u);
}

TEST(SpaceSearchSpace, ConfigurationsSurviveTheirNames) {
  const SearchSpace space = small();
  for (int i = 0; i < 8; ++i) {
    const Configuration c = space.at(i);
    const auto back = space.parse(space.to_json(c));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(*back, c);
  }
  EXPECT_EQ(space.to_json(space.at(0)), R"({"knobs":{"tile":[1,4],"unroll":[0]},"sketch":"a"})");
}

TEST(SpaceSearchSpace, UnknownNamesAreRefused) {
  const SearchSpace space = small();
  for (const char* bad :
       {"", "{}", R"({"sketch":"z","knobs":{}})", R"({"sketch":"b","knobs":{}})",
        R"({"sketch":"b","knobs":{"x":[3]}})", R"({"sketch":"b","knobs":{"x":[1],"y":[1]}})",
        R"({"sketch":"b","knobs":{"x":1}})"}) {
    const auto c = space.parse(bad);
    ASSERT_FALSE(c) << bad;
    EXPECT_EQ(c.error().code, ErrorCode::InvalidArgument);
  }
}

TEST(SpaceSearchSpace, MutationsChangeOneKnobAndStayInside) {
  const SearchSpace space = small();
  std::mt19937_64 rng(5);
  for (int i = 0; i < 200; ++i) {
    const Configuration from = space.random(rng), to = space.mutate(from, rng);
    ASSERT_EQ(from.sketch, to.sketch);
    int changed = 0;
    for (std::size_t k = 0; k < from.choice.size(); ++k) {
      changed += from.choice[k] != to.choice[k];
      ASSERT_LT(to.choice[k], space.sketches()[to.sketch].knobs[k].options.size());
    }
    EXPECT_EQ(changed, 1);
    const Configuration other = space.random(rng), child = space.crossover(from, other, rng);
    if (from.sketch == other.sketch) {
      for (std::size_t k = 0; k < child.choice.size(); ++k) {
        EXPECT_TRUE(child.choice[k] == from.choice[k] || child.choice[k] == other.choice[k]);
      }
    }
  }
}

// Rows, columns, vectors and lanes, listed in the order of their first number.
const std::vector<KnobValue>& tiles() {
  static const std::vector<KnobValue> all = {
      {1, 1, 4, 8}, {2, 1, 2, 4}, {2, 1, 2, 8}, {2, 1, 4, 8}, {2, 2, 2, 8}, {3, 1, 2, 8},
      {3, 4, 1, 8}, {4, 1, 1, 8}, {4, 1, 2, 4}, {4, 1, 2, 8}, {4, 1, 3, 4}, {5, 1, 2, 8}};
  return all;
}

TEST(OptionScale, NeighboursDifferInOneNumber) {
  const OptionScale scale(tiles());
  const auto place = [](const KnobValue& tile) {
    return static_cast<std::uint32_t>(std::find(tiles().begin(), tiles().end(), tile) -
                                      tiles().begin());
  };
  const std::uint32_t from = place({4, 1, 2, 8});
  std::mt19937_64 rng(3);
  std::set<std::uint32_t> reached;
  for (int i = 0; i < 1000; ++i) reached.insert(scale.step_from(from, rng));
  for (const KnobValue& near : {KnobValue{5, 1, 2, 8}, {3, 1, 2, 8}, {4, 1, 1, 8}, {4, 1, 2, 4}}) {
    EXPECT_TRUE(reached.contains(place(near))) << near[0] << "x" << near[1];
  }
  EXPECT_TRUE(reached.contains(place({2, 1, 2, 8}))) << "two steps";
  EXPECT_FALSE(reached.contains(place({1, 1, 4, 8})));
  EXPECT_LT(scale.apart(from, place({5, 1, 2, 8})), scale.apart(from, place({3, 4, 1, 8})));
  EXPECT_EQ(scale.apart(from, from), 0);
}

TEST(OptionScale, SingleNumbersStandAsTheyAreListed) {
  const OptionScale scale({{1}, {4}, {16}, {0}});  // 0: all of them
  EXPECT_EQ(scale.apart(0, 3), 1);
  EXPECT_DOUBLE_EQ(scale.apart(2, 3), 1.0 / 3);
  std::mt19937_64 rng(3);
  std::set<std::uint32_t> reached;
  for (int i = 0; i < 100; ++i) reached.insert(scale.step_from(3, rng));
  EXPECT_EQ(reached, (std::set<std::uint32_t>{1, 2, 3}));
  const OptionScale one({{7, 7}});
  EXPECT_EQ(one.step_from(0, rng), 0u);
  EXPECT_EQ(one.apart(0, 0), 0);
}

TEST(SearchSpace, RecordsFromBeforeAKnobKeepTheirMeaning) {
  const SearchSpace space({{"tiled", {{"tile", {{1}, {2}}}, {"skip", {{0}, {1}}, 0}}}});
  const auto old = space.parse(R"({"sketch":"tiled","knobs":{"tile":[2]}})");
  ASSERT_TRUE(old) << old.error().text();
  EXPECT_EQ(space.value(*old, "tile")[0], 2);
  EXPECT_EQ(space.value(*old, "skip")[0], 0);
  EXPECT_FALSE(space.parse(R"({"sketch":"tiled","knobs":{"skip":[1]}})"));
}

// a * b is at most 6, and c is even where a is 1.
SearchSpace constrained() {
  const Options four = plain({1, 2, 3, 4});
  const auto product = [](std::span<const KnobValue* const> v) {
    return v[0]->front() * v[1]->front() <= 6;
  };
  const auto even = [](std::span<const KnobValue* const> v) {
    return v[1]->front() != 1 || v[0]->front() % 2 == 0;
  };
  return SearchSpace(
      {{"tiled",
        {{"a", four}, {"b", four}, {"c", four}},
        {{"a * b is at most 6", {"a", "b"}, product}, {"c is even", {"c", "a"}, even}}}});
}

TEST(SearchSpace, WhatIsDrawnFulfilsTheConstraints) {
  const SearchSpace space = constrained();
  std::set<std::string> possible, drawn;
  for (std::uint64_t i = 0; i < 64; ++i) {
    const Configuration c = space.at(i);
    const auto value = [&](const char* knob) { return space.value(c, knob)[0]; };
    const bool fits = value("a") * value("b") <= 6 && (value("a") != 1 || value("c") % 2 == 0);
    EXPECT_EQ(space.contains(c), fits);
    if (fits) possible.insert(space.to_json(c));
  }
  EXPECT_EQ(space.size(), 64);
  std::mt19937_64 rng(5);
  Configuration last = space.random(rng);
  for (int i = 0; i < 2000; ++i) {
    const Configuration random = space.random(rng), mutated = space.mutate(last, rng),
                        child = space.crossover(random, mutated, rng);
    for (const Configuration& c : {random, mutated, child}) EXPECT_TRUE(space.contains(c));
    drawn.insert(space.to_json(random));
    last = child;
  }
  EXPECT_EQ(drawn, possible);
}

TEST(SearchSpace, ABrokenConstraintIsNamed) {
  const SearchSpace space = constrained();
  EXPECT_TRUE(space.parse(R"({"sketch":"tiled","knobs":{"a":[2],"b":[3],"c":[1]}})"));
  const auto refused = space.parse(R"({"sketch":"tiled","knobs":{"a":[3],"b":[3],"c":[1]}})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(refused.error().message.find("\"a * b is at most 6\" between a, b"), std::string::npos)
      << refused.error().text();
}

// One combination in a million: no redraw finds it.
TEST(SearchSpace, RareCombinationsAreFound) {
  Options many;
  for (std::int64_t i = 0; i < 100; ++i) many.push_back({i});
  const auto rare = [](std::span<const KnobValue* const> v) {
    return v[0]->front() == 70 && v[1]->front() == 8 && v[2]->front() == 99;
  };
  const SearchSpace space(
      {{"one", {{"a", many}, {"b", many}, {"c", many}}, {{"rare", {"a", "b", "c"}, rare}}}});
  std::mt19937_64 rng(2);
  const Configuration only = space.random(rng);
  EXPECT_EQ(space.to_json(only), R"({"knobs":{"a":[70],"b":[8],"c":[99]},"sketch":"one"})");
  EXPECT_EQ(space.mutate(only, rng), only);
  EXPECT_EQ(space.crossover(only, only, rng), only);
}

TEST(SpaceSketch, RecordsOfRowsFromBeforeChainsHaveOne) {
  const auto rows = Workload::parse(
      nlohmann::json{{"op", "reduce"}, {"function", "sum"}, {"shape", {4, 64}}, {"axes", {1}}});
  const auto task = open_cpu_space(rows->dag(), property::small_targets()[0]);
  ASSERT_TRUE(task) << task.error().text();
  const SearchSpace* space = &task->space();
  const auto old =
      space->parse(R"({"sketch":"cpu_rows","knobs":{"task_rows":[1],"reduce_inner":[2]}})");
  ASSERT_TRUE(old) << old.error().text();
  EXPECT_EQ(space->value(*old, "chains")[0], 1);
}

// What is computed says nothing of vectors: a row's reduction has the row's length, whatever
// lanes a schedule makes of it.
TEST(SpaceSketch, RowsAreReducedWhole) {
  for (const char* fields :
       {R"("softmax","batch":3,"features":48)", R"("layer_norm","batch":3,"features":48)",
        R"("reduce","function":"mean","shape":[3,48],"axes":[1])"}) {
    const auto w = Workload::parse(std::string("{\"op\":") + fields + "}");
    ASSERT_TRUE(w) << w.error().text();
    int reductions = 0;
    for (const Stage& stage : w->dag().stages) {
      if (stage.reduce_axes.empty()) continue;
      ++reductions;
      ASSERT_EQ(stage.axes.size(), 1u) << fields;
      ASSERT_EQ(stage.reduce_axes.size(), 1u) << fields;
      EXPECT_EQ(stage.axes[0].extent, 3) << fields;
      EXPECT_EQ(stage.reduce_axes[0].extent, 48) << fields;
    }
    EXPECT_GE(reductions, 1) << fields;
  }
}

// The rule speaks of extents, not of operators: a long sum to few elements.
TEST(SpaceSketch, LongReductionsToFewElementsAreCutIntoParts) {
  const auto cut = [](const char* fields) {
    const auto w = Workload::parse(std::string("{\"op\":") + fields + "}");
    const auto task = open_cpu_space(w->dag(), property::small_targets()[0]);
    bool found = false;
    for (const Sketch& sketch : task->space().sketches()) found |= sketch.name == "cpu_rfactor";
    return found;
  };
  EXPECT_TRUE(cut(R"("dense","in_features":4096,"out_features":10)"));
  EXPECT_TRUE(cut(R"("reduce","function":"max","shape":[100000],"axes":[0])"));
  EXPECT_TRUE(cut(R"("global_avg_pool2d","height":56,"width":56,"channels":3)"));
  EXPECT_TRUE(cut(R"("conv2d","height":3,"width":3,"in_channels":64,"out_channels":8,"kernel":3)"));
  EXPECT_FALSE(cut(R"("dense","in_features":4096,"out_features":1000)"));
  EXPECT_FALSE(cut(R"("dense","in_features":40,"out_features":10)"));
  EXPECT_FALSE(cut(R"("softmax","features":1000)"));
}

TEST(SpaceSketch, RegisterTilesFitTheRegisterFile) {
  for (const CpuTarget& target : property::small_targets()) {
    for (const auto [y, x, channels] : {std::array<std::int64_t, 3>{56, 56, 64},
                                        {7, 7, 512},
                                        {1, 1, 1000},
                                        {9, 5, 3},
                                        {1, 1, 1}}) {
      const auto tiles = register_tiles(y, x, channels, target);
      ASSERT_FALSE(tiles.empty());
      for (const auto& t : tiles) {
        EXPECT_LE(t[0] * t[1] * t[2] + t[2] + 1, target.vector_registers);
        EXPECT_LE(t[0], y);
        EXPECT_LE(t[1], x);
        EXPECT_LE(t[2] * t[3], channels);
        EXPECT_LE(t[3] * 32, target.vector_bits);
      }
    }
  }
}

TEST(SpaceSketch, SpacesHaveAUsefulSize) {
  const auto w = Workload::parse(nlohmann::json{{"op", "conv2d"},
                                                {"height", 56},
                                                {"width", 56},
                                                {"in_channels", 64},
                                                {"out_channels", 64},
                                                {"kernel", 3},
                                                {"pad", 1},
                                                {"tail", {"bias"}}});
  ASSERT_TRUE(w) << w.error().text();
  for (const CpuTarget& target : property::small_targets()) {
    const auto task = open_cpu_space(w->dag(), target);
    ASSERT_TRUE(task);
    EXPECT_GE(task->space().size(), 1e3);
    EXPECT_LE(task->space().size(), 1e8);
  }
}

}  // namespace
}  // namespace fettle::space
