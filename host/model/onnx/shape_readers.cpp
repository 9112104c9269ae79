// Operators about shapes: views, and what rearranges or repeats whole tensors.
#include <algorithm>
#include <numeric>

#include "host/model/onnx/readers.h"

namespace fettle::model {
namespace {

using List = NodeReader::List;

Outputs reshape(const NodeReader& node) {
  auto shape = node.parameter("shape", 1, {});
  if (!shape) return std::move(shape).error();
  return one(node, "Reshape", {{"shape", *shape}, {"allowzero", node.integer("allowzero", 0)}},
             {node.input(0)});
}

Outputs flatten(const NodeReader& node) { return one(node, {{"axis", node.integer("axis", 1)}}); }

Outputs with_axes(const NodeReader& node) {
  auto axes = node.parameter("axes", 1, {});
  if (!axes) return std::move(axes).error();
  return one(node, node.op(), {{"axes", *axes}}, {node.input(0)});
}

Outputs shape(const NodeReader& node) {
  const auto& of = node.shape(0);
  const std::int64_t rank = static_cast<std::int64_t>(of.size());
  const auto place = [&](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank);
  };
  const std::int64_t begin = place(node.integer("start", 0)),
                     end = place(node.integer("end", rank));
  List list;
  for (std::int64_t d = begin; d < end; ++d) list.push_back(of[static_cast<std::size_t>(d)]);
  return std::vector<ValueId>{node.constant(list)};
}

Outputs size(const NodeReader& node) {
  return std::vector<ValueId>{node.constant({node.type(0).elements()}, true)};
}

Outputs constant_of_shape(const NodeReader& node) {
  auto shape = node.parameter("shape", 0, {});
  if (!shape) return std::move(shape).error();
  OnnxTensor value{{ir::Scalar::Float32, {1}}, std::vector<std::uint8_t>(4)};
  if (const auto* given = node.attribute("value")) {
    auto read = read_tensor(given->t());
    if (!read) return std::move(read).error();
    value = std::move(*read);
  }
  if (value.type.elements() != 1) return node.invalid("its value is not one number");
  value.type.shape = {};
  return one(node, "Expand", {{"shape", *shape}}, {node.constant(std::move(value))});
}

Outputs transpose(const NodeReader& node) {
  List reversed(node.shape(0).size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  auto order =
      node.checked_list("perm", reversed, 0, static_cast<std::int64_t>(reversed.size()) - 1);
  if (!order) return std::move(order).error();
  return one(node, {{"perm", *order}});
}

Outputs concat(const NodeReader& node) {
  std::vector<ValueId> parts = node.all_inputs();
  // Empty lists, as exporters write them into sums of shapes, are constants: no node has any.
  std::erase_if(
      parts, [&](ValueId part) { return part != kNoValue && node.type_of(part).elements() == 0; });
  if (parts.empty() && node.inputs() > 0) return std::vector<ValueId>{node.input(0)};
  auto all = concatenated(node, std::move(parts), node.integer("axis", 1));
  if (!all) return std::move(all).error();
  return std::vector<ValueId>{*all};
}

Outputs expand(const NodeReader& node) {
  auto shape = node.parameter("shape", 1, {});
  if (!shape) return std::move(shape).error();
  return one(node, "Expand", {{"shape", *shape}}, {node.input(0)});
}

Outputs tile(const NodeReader& node) {
  auto repeats = node.parameter("repeats", 1, {});
  if (!repeats) return std::move(repeats).error();
  return one(node, "Tile", {{"repeats", *repeats}}, {node.input(0)});
}

// Blocks of the depth become places, or the other way around: an axis cut in two, moved, joined.
Outputs depth_to_space(const NodeReader& node) {
  const auto& x = node.shape(0);
  const std::int64_t b = node.integer("blocksize", 0);
  if (x.size() != 4 || b < 1 || b > 1024 || x[1] % (b * b))
    return node.invalid("its blocks do not fit");
  const bool crd = node.word("mode", "DCR") == "CRD";
  const std::int64_t c = x[1] / (b * b);
  const List cut = crd ? List{x[0], c, b, b, x[2], x[3]} : List{x[0], b, b, c, x[2], x[3]};
  const List order = crd ? List{0, 1, 4, 2, 5, 3} : List{0, 3, 4, 1, 5, 2};
  auto parts = node.add("Reshape", {{"shape", cut}, {"allowzero", 0}}, {node.input(0)});
  if (!parts) return std::move(parts).error();
  auto moved = node.add("Transpose", {{"perm", order}}, {*parts});
  if (!moved) return std::move(moved).error();
  return one(node, "Reshape", {{"shape", List{x[0], c, x[2] * b, x[3] * b}}, {"allowzero", 0}},
             {*moved});
}

Outputs space_to_depth(const NodeReader& node) {
  const auto& x = node.shape(0);
  const std::int64_t b = node.integer("blocksize", 0);
  if (x.size() != 4 || b < 1 || x[2] % b || x[3] % b) return node.invalid("its blocks do not fit");
  auto parts =
      node.add("Reshape", {{"shape", List{x[0], x[1], x[2] / b, b, x[3] / b, b}}, {"allowzero", 0}},
               {node.input(0)});
  if (!parts) return std::move(parts).error();
  auto moved = node.add("Transpose", {{"perm", List{0, 3, 5, 1, 2, 4}}}, {*parts});
  if (!moved) return std::move(moved).error();
  return one(node, "Reshape",
             {{"shape", List{x[0], x[1] * b * b, x[2] / b, x[3] / b}}, {"allowzero", 0}}, {*moved});
}

constexpr ReaderRow kShapeReaders[] = {
    {"Reshape", reshape},
    {"Flatten", flatten},
    {"Squeeze", with_axes},
    {"Unsqueeze", with_axes},
    {"Shape", shape},
    {"Size", size},
    {"ConstantOfShape", constant_of_shape},
    {"Transpose", transpose},
    {"Concat", concat},
    {"Expand", expand},
    {"Tile", tile},
    {"DepthToSpace", depth_to_space},
    {"SpaceToDepth", space_to_depth},
};

}  // namespace

std::span<const ReaderRow> shape_readers() { return kShapeReaders; }

Result<ValueId> concatenated(const NodeReader& node, std::vector<ValueId> parts,
                             std::int64_t axis) {
  constexpr std::size_t kMostJoined = 16;
  while (parts.size() > kMostJoined) {
    std::vector<ValueId> fewer;
    for (std::size_t i = 0; i < parts.size(); i += kMostJoined) {
      const auto first = parts.begin() + static_cast<std::ptrdiff_t>(i);
      const std::size_t count = std::min(kMostJoined, parts.size() - i);
      auto some = concatenated(node, {first, first + static_cast<std::ptrdiff_t>(count)}, axis);
      if (!some) return some;
      fewer.push_back(*some);
    }
    parts = std::move(fewer);
  }
  if (parts.size() == 1 && parts[0] != kNoValue && node.inputs() != 1) return parts[0];
  return node.add("Concat", {{"axis", axis}}, std::move(parts));
}

}  // namespace fettle::model
