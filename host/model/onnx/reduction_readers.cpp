// Reductions and normalisations.
#include <algorithm>
#include <numeric>

#include "host/model/onnx/readers.h"

namespace fettle::model {
namespace {

using List = NodeReader::List;

Outputs reduce(const NodeReader& node) {
  auto axes = node.parameter("axes", 1, {});
  if (!axes) return std::move(axes).error();
  const List shape = node.shape(0);
  for (std::int64_t& axis : *axes) {
    if (axis < 0 && axis >= -std::ssize(shape)) axis += std::ssize(shape);
  }
  std::sort(axes->begin(), axes->end());
  if (axes->empty() && node.integer("noop_with_empty_axes", 0) != 0) {
    const ValueId x = node.input(0);
    if (node.op() == "ReduceSumSquare") return one(node, "Mul", json::object(), {x, x});
    return one(node, node.op() == "ReduceL2" ? "Abs" : "Identity", json::object(), {x});
  }
  // An image's mean is an operator of the library, which keeps its axes.
  const bool of_image = node.op() == "ReduceMean" && shape.size() == 4 && *axes == List{2, 3};
  if (of_image && node.integer("keepdims", 1) == 0) {
    auto kept =
        node.add("ReduceMean", {{"axes", *axes}, {"keepdims", 1}, {"noop_with_empty_axes", 0}},
                 {node.input(0)});
    if (!kept) return std::move(kept).error();
    return one(node, "Reshape", {{"shape", List{shape[0], shape[1]}}, {"allowzero", 0}}, {*kept});
  }
  return one(
      node, node.op(),
      {{"axes", *axes}, {"keepdims", node.integer("keepdims", 1)}, {"noop_with_empty_axes", 0}},
      {node.input(0)});
}

// The library's goes along the last axis.
Outputs softmax_along(const NodeReader& node, std::int64_t axis) {
  const auto rank = std::ssize(node.shape(0));
  const std::int64_t along = axis < 0 ? axis + rank : axis;
  if (along < 0 || along >= rank - 1) return one(node, {{"axis", axis}});
  List there(static_cast<std::size_t>(rank));
  std::iota(there.begin(), there.end(), 0);
  std::rotate(there.begin() + along, there.begin() + along + 1, there.end());
  List back(there.size());
  for (std::size_t d = 0; d < there.size(); ++d) {
    back[static_cast<std::size_t>(there[d])] = static_cast<std::int64_t>(d);
  }
  auto moved = node.add("Transpose", {{"perm", there}}, {node.input(0)});
  if (!moved) return std::move(moved).error();
  auto value = node.add("Softmax", {{"axis", -1}}, {*moved});
  if (!value) return std::move(value).error();
  return one(node, "Transpose", {{"perm", back}}, {*value});
}

// Before opset 13 over all axes from `axis` on at once.
Outputs softmax(const NodeReader& node) {
  const List x = node.shape(0);
  if (node.opset() >= 13) return softmax_along(node, node.integer("axis", -1));
  std::int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += static_cast<std::int64_t>(x.size());
  if (axis + 1 == static_cast<std::int64_t>(x.size())) return one(node, {{"axis", axis}});
  auto flat = node.add("Flatten", {{"axis", axis}}, {node.input(0)});
  if (!flat) return std::move(flat).error();
  auto value = node.add("Softmax", {{"axis", 1}}, {*flat});
  if (!value) return std::move(value).error();
  return one(node, "Reshape", {{"shape", x}, {"allowzero", 0}}, {*value});
}

// All spatial axes at once.
Outputs global(const NodeReader& node, const char* op) {
  List axes(node.shape(0).size() < 2 ? 0 : node.shape(0).size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  if (axes.empty()) return node.invalid("its input has no spatial axes");
  return one(node, op, {{"axes", axes}, {"keepdims", 1}, {"noop_with_empty_axes", 0}},
             {node.input(0)});
}
Outputs global_average(const NodeReader& node) { return global(node, "ReduceMean"); }
Outputs global_max(const NodeReader& node) { return global(node, "ReduceMax"); }

constexpr ReaderRow kReductionReaders[] = {
    {"ReduceSum", reduce},         {"ReduceMean", reduce},
    {"ReduceMax", reduce},         {"ReduceMin", reduce},
    {"ReduceSumSquare", reduce},   {"ReduceL2", reduce},
    {"Softmax", softmax},          {"GlobalAveragePool", global_average},
    {"GlobalMaxPool", global_max},
};

}  // namespace

std::span<const ReaderRow> reduction_readers() { return kReductionReaders; }

}  // namespace fettle::model
