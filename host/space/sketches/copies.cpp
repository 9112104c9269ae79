// Copies by whole vectors (copies.h).
#include "host/space/sketches/copies.h"

#include "host/ir/loads.h"
#include "host/ir/mutator.h"

namespace fettle::space {

namespace {

// Most elements of either side of a tile that is transposed: the tile is unrolled.
constexpr std::int64_t kLargestTile = 16;

// The axis that what is copied lies along.
const Axis& source_axis(const Stage& copy) {
  const Axis* found = &copy.axes.back();
  ir::walk(copy.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    if (!load) return;
    for (const Axis& axis : copy.axes) {
      if (ir::mentions(load->indices.back(), axis.var)) found = &axis;
    }
  });
  return *found;
}

}  // namespace

void vectorize_copy(Steps& steps, const Stage& copy, std::int64_t lanes, std::int64_t part) {
  const std::string last = copy.axes.back().name;
  const Axis& along = source_axis(copy);
  if (along.name == last) {
    steps.split(copy.name, last, lanes, last + ".vector", last + ".lane");
    steps.vectorize(copy.name, last + ".lane");
    return;
  }
  const std::string vector = along.name + ".vector", lane = along.name + ".lane";
  const std::int64_t most = std::min({lanes, kLargestTile});
  steps.split(copy.name, last, most, last + ".vector", last + ".element");
  steps.split(copy.name, along.name, largest_power(std::min({kLargestTile, part, along.extent})),
              vector, lane);
  std::vector<std::string> order;
  for (const Axis& axis : copy.axes) {
    if (axis.name != along.name && axis.name != last) order.push_back(axis.name);
  }
  for (const std::string& loop : {vector, last + ".vector", last + ".element", lane}) {
    order.push_back(loop);
  }
  steps(ReorderStep{copy.name, order});
  steps.unroll(copy.name, {last + ".element"});
  steps.vectorize(copy.name, lane);
}

}  // namespace fettle::space
