// Reductions and normalisations.
#include <algorithm>
#include <functional>
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
  // An image's mean is an operator of the library, which keeps its axes.
  const bool of_image = node.op() == "ReduceMean" && shape.size() == 4 && *axes == List{2, 3};
  if (of_image && node.integer("keepdims", 1) == 0) {
    auto kept =
        node.add("ReduceMean", {{"axes", *axes}, {"keepdims", 1}, {"noop_with_empty_axes", 0}},
                 {node.input(0)});
    if (!kept) return std::move(kept).error();
    return one(node, "Reshape", {{"shape", List{shape[0], shape[1]}}, {"allowzero", 0}}, {*kept});
  }
  return one(node, node.op(),
             {{"axes", *axes},
              {"keepdims", node.integer("keepdims", 1)},
              {"noop_with_empty_axes", node.integer("noop_with_empty_axes", 0)}},
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

Outputs batch_normalization(const NodeReader& node) {
  if (node.integer("training_mode", 0)) return node.unsupported("training");
  return one(node, {{"epsilon", node.number("epsilon", 1e-5)}});
}

std::int64_t product(List::const_iterator begin, List::const_iterator end) {
  return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
}

Result<ValueId> reshaped(const NodeReader& node, ValueId value, const List& shape) {
  return node.add("Reshape", {{"shape", shape}, {"allowzero", 0}}, {value});
}

// As many as there are features, each `value`, of that type.
Result<ValueId> of_features(const NodeReader& node, ir::Scalar scalar, std::int64_t features,
                            float value) {
  OnnxTensor tensor;
  tensor.type = {ir::Scalar::Float32, {features}};
  for (std::int64_t i = 0; i < features; ++i) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    tensor.bytes.insert(tensor.bytes.end(), bytes, bytes + sizeof value);
  }
  const ValueId made = node.constant(std::move(tensor));
  if (scalar == ir::Scalar::Float32) return made;
  return node.add("Cast", {{"to", ir::to_string(ir::DataType{scalar})}}, {made});
}

// The library's has rows of features, a scale and a shift: what is of another form is brought to
// that.
struct Rows {
  std::int64_t rows = 0, features = 0;
};

Result<ValueId> norm_of_rows(const NodeReader& node, Rows of, ValueId scale, ValueId shift) {
  auto x = reshaped(node, node.input(0), {of.rows, of.features});
  if (!x) return x;
  return node.add("LayerNormalization", {{"axis", -1}, {"epsilon", node.number("epsilon", 1e-5)}},
                  {*x, scale, shift});
}

Outputs layer_normalization(const NodeReader& node) {
  const List x = node.shape(0);
  const json attributes = {{"axis", node.integer("axis", -1)},
                           {"epsilon", node.number("epsilon", 1e-5)}};
  std::int64_t axis = node.integer("axis", -1);
  if (axis < 0) axis += std::ssize(x);
  const bool fits = axis >= 0 && axis < std::ssize(x) && node.has_input(1) &&
                    node.shape(1) == List(x.begin() + axis, x.end()) &&
                    (!node.has_input(2) || node.shape(2) == node.shape(1));
  if (!fits) return one(node, attributes);  // which says what is wrong
  const Rows of{product(x.begin(), x.begin() + axis), product(x.begin() + axis, x.end())};
  ValueId scale = node.input(1), shift = node.input(2);
  if (shift == kNoValue) {
    auto none = of_features(node, node.type(1).scalar, of.features, 0);
    if (!none) return std::move(none).error();
    shift = *none;
  }
  if (axis == std::ssize(x) - 1) {
    return one(node, node.op(), attributes, {node.input(0), scale, shift});
  }
  for (ValueId* factor : {&scale, &shift}) {
    auto flat = reshaped(node, *factor, {of.features});
    if (!flat) return std::move(flat).error();
    *factor = *flat;
  }
  auto value = norm_of_rows(node, of, scale, shift);
  if (!value) return std::move(value).error();
  return one(node, "Reshape", {{"shape", x}, {"allowzero", 0}}, {*value});
}

// A row for each channel of each image.
Outputs instance_normalization(const NodeReader& node) {
  const List x = node.shape(0);
  const bool fits = x.size() >= 3 && node.inputs() == 3 && node.has_input(1) && node.has_input(2) &&
                    node.shape(1) == List{x[1]} && node.shape(2) == List{x[1]};
  if (!fits) return one(node, {{"epsilon", node.number("epsilon", 1e-5)}});  // as above
  const Rows of{x[0] * x[1], product(x.begin() + 2, x.end())};
  auto ones = of_features(node, node.type(0).scalar, of.features, 1);
  auto zeros = of_features(node, node.type(0).scalar, of.features, 0);
  if (!ones || !zeros) return ones ? std::move(zeros).error() : std::move(ones).error();
  auto value = norm_of_rows(node, of, *ones, *zeros);
  if (!value) return std::move(value).error();
  auto image = reshaped(node, *value, x);
  if (!image) return std::move(image).error();
  List of_channels(x.size() - 1, 1);
  of_channels[0] = x[1];
  auto scale = reshaped(node, node.input(1), of_channels);
  auto shift = reshaped(node, node.input(2), of_channels);
  if (!scale || !shift) return scale ? std::move(shift).error() : std::move(scale).error();
  auto scaled = node.add("Mul", json::object(), {*image, *scale});
  if (!scaled) return std::move(scaled).error();
  return one(node, "Add", json::object(), {*scaled, *shift});
}

Outputs local_response_normalization(const NodeReader& node) {
  return one(node, {{"size", node.integer("size", 1)},
                    {"alpha", node.number("alpha", 1e-4)},
                    {"beta", node.number("beta", 0.75)},
                    {"bias", node.number("bias", 1)}});
}

constexpr ReaderRow kReductionReaders[] = {
    {"LRN", local_response_normalization},
    {"ReduceSum", reduce},
    {"ReduceMean", reduce},
    {"ReduceMax", reduce},
    {"ReduceMin", reduce},
    {"ReduceSumSquare", reduce},
    {"ReduceL2", reduce},
    {"Softmax", softmax},
    {"GlobalAveragePool", global_average},
    {"GlobalMaxPool", global_max},
    {"BatchNormalization", batch_normalization},
    {"InstanceNormalization", instance_normalization},
    {"LayerNormalization", layer_normalization},
};

}  // namespace

std::span<const ReaderRow> reduction_readers() { return kReductionReaders; }

}  // namespace fettle::model
