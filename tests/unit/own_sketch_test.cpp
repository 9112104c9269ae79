// A user's sketches: what of them cannot be searched is refused, with the reason.
#include <gtest/gtest.h>

#include "host/libfettle/own_sketch.h"
#include "host/space/workload.h"
#include "tests/property/random_workload.h"

namespace fettle {
namespace {

// Sketches stay added: each is for the dense layer of so many columns alone.
class OwnSketch : public ::testing::Test {
 protected:
  static CpuSketch for_columns(std::int64_t columns) {
    CpuSketch sketch;
    sketch.name = "own";
    sketch.applies = [columns](const std::vector<StageFacts>& stages, const CpuFacts&) {
      return stages.back().axes.back().extent == columns;
    };
    sketch.knobs = [](const auto&, const CpuFacts&) {
      return std::vector<Knob>{{"width", {4, 8}}, {"rows", {1}}};
    };
    sketch.schedule = [](Steps&, const auto& knob) { knob("width"), knob("rows"); };
    return sketch;
  }
  static Result<space::CpuSpace> opened(const CpuSketch& sketch, std::int64_t columns) {
    space::add_cpu_sketch(own_sketch(sketch));
    const auto workload =
        space::Workload::parse(R"({"op":"dense","batch":3,"in_features":5,"out_features":)" +
                               std::to_string(columns) + "}");
    EXPECT_TRUE(workload) << workload.error().text();
    return space::open_cpu_space(workload->dag(), property::small_targets()[0]);
  }
  // Of the sketch "own", each knob's first option.
  static space::Configuration first_of(const space::CpuSpace& opened) {
    const auto& sketches = opened.space().sketches();
    std::uint32_t own = 0;
    while (own < sketches.size() && sketches[own].name != "own") ++own;
    EXPECT_LT(own, sketches.size());
    return {own, std::vector<std::uint32_t>(sketches[own].knobs.size(), 0)};
  }
};

TEST_F(OwnSketch, AKnobThatIsNotThereEndsTheCandidate) {
  CpuSketch sketch = for_columns(61);
  std::int64_t told = 0;
  sketch.schedule = [&told](Steps& steps, const auto& knob) {
    told = knob("widht");
    steps.split("none", "n", told, "outer", "inner");  // the first reason counts
  };
  const auto task = opened(sketch, 61);
  ASSERT_TRUE(task) << task.error().text();
  const auto made = task->schedule(first_of(*task));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(made.error().message,
            "the sketch \"own\" has no knob \"widht\"; there are: width, rows");
  EXPECT_EQ(told, 1);
}

TEST_F(OwnSketch, KnobsThatAreThereHaveTheirValues) {
  CpuSketch sketch = for_columns(62);
  std::int64_t width = 0;
  sketch.schedule = [&width](Steps&, const auto& knob) { width = knob("width"); };
  const auto task = opened(sketch, 62);
  ASSERT_TRUE(task) << task.error().text();
  space::Configuration configuration = first_of(*task);
  configuration.choice[0] = 1;
  const auto made = task->schedule(configuration);
  EXPECT_TRUE(made) << made.error().text();
  EXPECT_EQ(width, 8);
}

TEST_F(OwnSketch, WhatCannotBeSearchedIsRefusedByName) {
  const auto knobs = [](std::vector<Knob> list) {
    return [list](CpuSketch& sketch) {
      sketch.knobs = [list](const auto&, const CpuFacts&) { return list; };
    };
  };
  const struct {
    std::string says;
    std::function<void(CpuSketch&)> change;
  } rows[] = {
      {"a sketch has no name", [](auto& s) { s.name.clear(); }},
      {"\"own\" has no function knobs", [](auto& s) { s.knobs = nullptr; }},
      {"\"own\" has no function schedule", [](auto& s) { s.schedule = nullptr; }},
      {"\"own\" has a knob without a name", knobs({{"", {1}}})},
      {"\"own\" has a knob without options: \"rows\"", knobs({{"width", {1}}, {"rows", {}}})},
      {"\"own\" has two knobs \"rows\"", knobs({{"rows", {1}}, {"rows", {2}}})},
  };
  std::int64_t columns = 63;
  for (const auto& row : rows) {
    CpuSketch sketch = for_columns(columns);
    row.change(sketch);
    const auto task = opened(sketch, columns++);
    ASSERT_FALSE(task) << row.says;
    EXPECT_EQ(task.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(task.error().message.find(row.says), std::string::npos) << task.error().text();
  }
  CpuSketch named = for_columns(columns);
  ASSERT_TRUE(opened(named, columns));
  const auto twice = opened(named, columns);
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("\"own\" has the name of another sketch"),
            std::string::npos);
}

// It is looked at for every task: none is tuned as if the sketch were not there.
TEST_F(OwnSketch, OneThatDoesNotSayWhatItAppliesToIsTold) {
  CpuSketch sketch = for_columns(60);
  sketch.applies = nullptr;
  const space::OwnCpuSketch boundless = own_sketch(sketch);  // not added: it would be for all
  const space::ComputeDag dag;
  EXPECT_TRUE(boundless.applies(dag, {}));
  const auto refused = boundless.sketch(dag, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("\"own\" has no function applies"), std::string::npos);
}

}  // namespace
}  // namespace fettle
