// Target and sketch of the stack machine (stack_space.h).
#include "tests/extension/stack_space.h"

#include <cassert>

#include <nlohmann/json.hpp>

#include "host/space/sketches/steps.h"

namespace fettle::extension {
namespace {

using space::ComputeDag;
using space::Configuration;
using space::Stage;

constexpr std::int64_t kMostUnrolled = 4;

// Stages whose values can be computed where they are read.
std::vector<std::string> inlinable(const ComputeDag& dag) {
  std::vector<std::string> names;
  for (const Stage& stage : dag.stages) {
    if (!stage.placeholder() && stage.reduce_axes.empty() && stage.role != ir::Role::Output) {
      names.push_back(stage.name);
    }
  }
  return names;
}

space::Sketch sketch_of(const ComputeDag& dag) {
  space::Sketch sketch{"stack_loops", {{"unroll", space::plain({0, 1})}}};
  if (!inlinable(dag).empty()) sketch.knobs.push_back({"inline", space::plain({0, 1})});
  const Stage& output = dag.stages.back();
  const std::int64_t extent = output.axes.empty() ? 1 : output.axes.back().extent;
  sketch.knobs.push_back({"tile", space::divisors(extent, 16)});
  sketch.constraints.push_back({"unrolled tiles are small",
                                {"unroll", "tile"},
                                [](std::span<const space::KnobValue* const> values) {
                                  return values[0]->front() == 0 ||
                                         values[1]->front() <= kMostUnrolled;
                                }});
  return sketch;
}

Result<space::Schedule> schedule(const ComputeDag& dag, const space::SearchSpace& space,
                                 const Configuration& c) {
  space::Steps steps{space::Schedule(dag)};
  const std::vector<std::string> early = inlinable(dag);
  if (!early.empty() && space.value(c, "inline")[0] == 1) {
    for (const std::string& stage : early) steps(space::InlineStep{stage});
  }
  const Stage& output = dag.stages.back();
  if (!output.axes.empty()) {
    const std::string axis = output.axes.back().name;
    steps.split(output.name, axis, space.value(c, "tile")[0], axis + ".outer", axis + ".inner");
    if (space.value(c, "unroll")[0] == 1) steps.unroll(output.name, {axis + ".inner"});
  }
  return steps.finish();
}

}  // namespace

space::Target StackTarget::target() const {
  const nlohmann::json json{
      {"backend", kBackend}, {"memory_bytes", memory_bytes}, {"slots", slots}};
  auto target = space::Target::parse(json.dump());
  assert(target);
  return std::move(*target);
}

Result<StackTarget> StackTarget::parse(const space::Target& target) {
  const nlohmann::json json = nlohmann::json::parse(target.canonical());
  const auto slots = json.find("slots");
  if (target.backend() != kBackend || slots == json.end() || !slots->is_number_integer()) {
    return Error{ErrorCode::InvalidArgument, "no target of the stack machine"};
  }
  return StackTarget{*slots, target.memory_bytes()};
}

space::TaskSpace open_stack_space(ComputeDag dag) {
  space::TaskSpace::Entry entry;
  entry.sketch = sketch_of(dag);
  entry.schedule = [dag](const space::SearchSpace& space, const Configuration& configuration) {
    return schedule(dag, space, configuration);
  };
  std::vector<space::TaskSpace::Entry> entries;
  entries.push_back(std::move(entry));
  return space::TaskSpace(std::move(dag), std::move(entries));
}

}  // namespace fettle::extension
