// Operators that take or add parts along axes.
#include <algorithm>

#include "host/model/onnx/readers.h"

namespace fettle::model {
namespace {

using List = NodeReader::List;

// One axis from `begin` on, `count` elements.
Outputs part(const NodeReader& node, std::size_t axis, std::int64_t begin, std::int64_t count) {
  const auto& x = node.shape(0);
  List starts(x.size(), 0), steps(x.size(), 1), shape = x;
  starts[axis] = begin;
  shape[axis] = count;
  return one(node, "Slice", {{"starts", starts}, {"steps", steps}, {"shape", shape}},
             {node.input(0)});
}

Outputs slice(const NodeReader& node) {
  const auto& x = node.shape(0);
  auto begin = node.parameter("starts", 1, {}), end = node.parameter("ends", 2, {});
  if (!begin) return std::move(begin).error();
  if (!end) return std::move(end).error();
  List all(begin->size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  auto axes = node.parameter("axes", 3, all);
  auto step = node.parameter("steps", 4, List(begin->size(), 1));
  if (!axes) return std::move(axes).error();
  if (!step) return std::move(step).error();
  if (end->size() != begin->size() || axes->size() != begin->size() ||
      step->size() != begin->size()) {
    return node.invalid("its lists differ in length");
  }
  List starts(x.size(), 0), steps(x.size(), 1), shape = x;
  bool empty = false;
  for (std::size_t i = 0; i < begin->size(); ++i) {
    const std::int64_t rank = static_cast<std::int64_t>(x.size());
    const std::int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank : (*axes)[i];
    // A longer step than the axis takes one element as well.
    const std::int64_t by = (*step)[i];
    if (axis < 0 || axis >= rank || by == 0)
      return node.invalid("has no such axis, or a step of 0");
    const std::size_t d = static_cast<std::size_t>(axis);
    const auto place = [&](std::int64_t i, std::int64_t low, std::int64_t high) {
      if (i < 0) i = i < -x[d] ? -1 : i + x[d];
      return std::clamp(i, low, high);
    };
    // Behind the last element counts as it for what goes backwards.
    const std::int64_t from =
        by > 0 ? place((*begin)[i], 0, x[d]) : place((*begin)[i], 0, x[d] - 1);
    const std::int64_t to = by > 0 ? place((*end)[i], 0, x[d]) : place((*end)[i], -1, x[d] - 1);
    const std::int64_t count = by > 0 ? (to - from + by - 1) / by : (from - to - by - 1) / -by;
    empty |= count < 1;
    starts[d] = from;
    steps[d] = by;
    shape[d] = std::max<std::int64_t>(count, 0);
  }
  // Of shapes, say, of which exporters take the first 0.
  if (empty && node.numbers(0)) {
    return std::vector<ValueId>{node.constant({{node.type(0).scalar, shape}, {}})};
  }
  if (empty) return node.unsupported("takes nothing of an axis");
  return one(node, "Slice", {{"starts", starts}, {"steps", steps}, {"shape", shape}},
             {node.input(0)});
}

Outputs split(const NodeReader& node) {
  const auto& x = node.shape(0);
  std::int64_t axis = node.integer("axis", 0);
  if (axis < 0) axis += static_cast<std::int64_t>(x.size());
  if (axis < 0 || axis >= static_cast<std::int64_t>(x.size()))
    return node.invalid("has no such axis");
  const std::size_t d = static_cast<std::size_t>(axis);
  auto sizes = node.parameter("split", 1, {});
  if (!sizes) return std::move(sizes).error();
  if (sizes->empty()) {
    const std::int64_t parts =
        node.integer("num_outputs", static_cast<std::int64_t>(node.outputs()));
    if (parts < 1 || parts > x[d]) return node.invalid("has no outputs, or too many");
    const std::int64_t each = (x[d] + parts - 1) / parts;
    for (std::int64_t left = x[d]; left > 0; left -= each) sizes->push_back(std::min(each, left));
  }
  std::vector<ValueId> outputs;
  std::int64_t begin = 0;
  for (const std::int64_t size : *sizes) {
    if (size < 1 || begin + size > x[d]) return node.invalid("its parts do not fit");
    auto made = part(node, d, begin, size);
    if (!made) return made;
    outputs.push_back(made->front());
    begin += size;
  }
  return outputs;
}

// `count` elements of an axis from `begin` on, each `step` behind the last.
Result<ValueId> run_of(const NodeReader& node, ValueId x, std::size_t axis, std::int64_t begin,
                       std::int64_t step, std::int64_t count) {
  const List of = node.type_of(x).shape;
  List starts(of.size(), 0), steps(of.size(), 1), shape = of;
  starts[axis] = begin, steps[axis] = step, shape[axis] = count;
  return node.add("Slice", {{"starts", starts}, {"steps", steps}, {"shape", shape}}, {x});
}

// An axis with what its ends are continued by: the last element again, or those behind it
// backwards.
Result<ValueId> continued(const NodeReader& node, ValueId x, std::size_t axis, std::int64_t before,
                          std::int64_t after, bool reflected) {
  const List shape = node.type_of(x).shape;
  const std::int64_t extent = shape[axis];
  if (before < 0 || after < 0) return node.unsupported("its mode with negative pads");
  if (std::max(before, after) > (reflected ? extent - 1 : 1024)) {
    return node.unsupported("pads of " + std::to_string(std::max(before, after)));
  }
  std::vector<ValueId> parts = {x};
  for (const bool front : {true, false}) {
    const std::int64_t count = front ? before : after;
    const std::int64_t begin = reflected ? (front ? before : extent - 2) : (front ? 0 : extent - 1);
    if (count == 0) continue;
    auto end = run_of(node, x, axis, begin, -1, reflected ? count : 1);
    if (end && !reflected) {
      List repeats(shape.size(), 1);
      repeats[axis] = count;
      end = node.add("Tile", {{"repeats", repeats}}, {*end});
    }
    if (!end) return std::move(end).error();
    parts.insert(front ? parts.begin() : parts.end(), *end);
  }
  return node.add("Concat", {{"axis", axis}}, parts);
}

Outputs pad_by_its_own(const NodeReader& node, const List& pads, bool reflected) {
  const std::size_t rank = node.shape(0).size();
  if (pads.size() != 2 * rank) return node.invalid("its pads have another rank");
  ValueId x = node.input(0);
  for (std::size_t d = 0; d < rank; ++d) {
    if (pads[d] == 0 && pads[rank + d] == 0) continue;
    auto longer = continued(node, x, d, pads[d], pads[rank + d], reflected);
    if (!longer) return std::move(longer).error();
    x = *longer;
  }
  return one(node, "Identity", json::object(), {x});
}

Outputs pad(const NodeReader& node) {
  const std::size_t rank = node.shape(0).size();
  auto pads = node.parameter("pads", 1, {});
  auto value = node.number_parameter("value", 2, 0);
  if (!pads) return std::move(pads).error();
  if (!value) return std::move(value).error();
  if (node.has_input(3)) {
    auto axes = node.parameter("axes", 3, {});
    if (!axes) return std::move(axes).error();
    if (pads->size() != 2 * axes->size()) return node.invalid("its pads have another length");
    List all(2 * rank, 0);
    for (std::size_t i = 0; i < axes->size(); ++i) {
      const std::int64_t d =
          (*axes)[i] < 0 ? (*axes)[i] + static_cast<std::int64_t>(rank) : (*axes)[i];
      if (d < 0 || d >= static_cast<std::int64_t>(rank)) return node.invalid("has no such axis");
      all[static_cast<std::size_t>(d)] = (*pads)[i];
      all[rank + static_cast<std::size_t>(d)] = (*pads)[axes->size() + i];
    }
    pads = all;
  }
  const std::string mode = node.word("mode", "constant");
  if (mode == "edge" || mode == "reflect") return pad_by_its_own(node, *pads, mode == "reflect");
  return one(node, "Pad", {{"pads", *pads}, {"value", *value}, {"mode", mode}}, {node.input(0)});
}

constexpr ReaderRow kSliceReaders[] = {
    {"Slice", slice},
    {"Split", split},
    {"Pad", pad},
};

}  // namespace

std::span<const ReaderRow> slice_readers() { return kSliceReaders; }

}  // namespace fettle::model
