// Normalisations. The library's has rows of features, a scale and a shift.
#include <functional>
#include <numeric>

#include "host/model/onnx/composer.h"

namespace fettle::model {
namespace {

using List = NodeReader::List;

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

// Neither scaled nor shifted.
Result<ValueId> plain_norm_of_rows(const NodeReader& node, Rows of) {
  auto ones = of_features(node, node.type(0).scalar, of.features, 1);
  if (!ones) return ones;
  auto zeros = of_features(node, node.type(0).scalar, of.features, 0);
  if (!zeros) return zeros;
  return norm_of_rows(node, of, *ones, *zeros);
}

// Scale and shift are broadcast to all of x.
Outputs spread_normalization(const NodeReader& node, std::int64_t axis) {
  const List x = node.shape(0);
  const Rows of{product(x.begin(), x.begin() + axis), product(x.begin() + axis, x.end())};
  auto rows = plain_norm_of_rows(node, of);
  if (!rows) return std::move(rows).error();
  Composer make(node);
  ValueId y = make("Mul", {make.reshape(*rows, x), node.input(1)});
  if (node.has_input(2)) y = make("Add", {y, node.input(2)});
  return make.end({y});
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
  const auto spreads = [&](std::size_t input) {
    const List own = node.has_input(input) ? node.shape(input) : List{};
    return own.size() <= x.size() &&
           std::equal(own.rbegin(), own.rend(), x.rbegin(),
                      [](std::int64_t a, std::int64_t b) { return a == b || a == 1; });
  };
  if (!fits && axis >= 0 && axis < std::ssize(x) && node.has_input(1) && spreads(1) && spreads(2)) {
    return spread_normalization(node, axis);
  }
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
  auto value = plain_norm_of_rows(node, of);
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

// A scale and a shift for each channel: axis 1 of `x`; kNoValue: none.
ValueId scaled_channels(Composer& make, const NodeReader& node, ValueId x, ValueId scale,
                        ValueId shift) {
  const List shape = make.shape(x);
  if (make.error()) return kNoValue;
  List of_channels(shape.size() - 1, 1);
  of_channels[0] = shape[1];
  x = make("Mul", {x, make.cast(make.reshape(scale, of_channels), node.type(0).scalar)});
  return make("Add", {x, make.cast(make.reshape(shift, of_channels), node.type(0).scalar)});
}

// A row for each group of channels. Until opset 20 each group has a scale and a shift, then each
// channel.
Outputs group_normalization(const NodeReader& node) {
  const List x = node.shape(0);
  const std::int64_t groups = node.integer("num_groups", 0);
  if (x.size() < 2 || groups < 1 || x[1] % groups != 0) {
    return node.invalid("its groups do not fit its channels");
  }
  const std::int64_t each = x[1] / groups, count = node.type(1).elements();
  if (node.inputs() != 3 || node.shape(1) != node.shape(2) || node.shape(1).size() != 1 ||
      (count != x[1] && count != groups)) {
    return node.invalid("its scale and shift do not fit its channels");
  }
  const Rows of{x[0] * groups, each * product(x.begin() + 2, x.end())};
  auto value = plain_norm_of_rows(node, of);
  if (!value) return std::move(value).error();
  Composer make(node);
  const auto of_channels = [&](ValueId factor) {
    if (count == x[1]) return factor;
    const ValueId spread =
        make("Expand", {make.reshape(factor, {groups, 1})}, {{"shape", List{groups, each}}});
    return make.reshape(spread, {x[1]});
  };
  return make.end({scaled_channels(make, node, make.reshape(*value, x), of_channels(node.input(1)),
                                   of_channels(node.input(2)))});
}

// x / sqrt(mean of x^2 + epsilon) scale, over the axes from `axis` on. Computed as float32.
Outputs root_mean_square_normalization(const NodeReader& node) {
  const auto rank = std::ssize(node.shape(0));
  std::int64_t axis = node.integer("axis", -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || !node.has_input(1)) return node.invalid("has no such axis");
  List axes(static_cast<std::size_t>(rank - axis));
  std::iota(axes.begin(), axes.end(), axis);
  Composer make(node);
  const ir::Scalar scalar = node.type(0).scalar;
  const ValueId x = make.cast(node.input(0), ir::Scalar::Float32);
  const ValueId mean = make.reduce("ReduceMean", make("Mul", {x, x}), axes);
  const ValueId shifted =
      make("Add", {mean, make.number(node.number("epsilon", 1e-5), ir::Scalar::Float32)});
  const ValueId value = make("Div", {x, make("Sqrt", {shifted})});
  return make.end({make("Mul", {make.cast(value, scalar), make.cast(node.input(1), scalar)})});
}

// x by its norm along an axis; nothing stays nothing.
Outputs unit_length(const NodeReader& node) {
  const std::int64_t p = node.integer("p", 2), axis = node.integer("axis", -1);
  if (p != 1 && p != 2) return node.invalid("its p is neither 1 nor 2");
  Composer make(node);
  const ValueId x = node.input(0);
  const ValueId length = p == 2 ? make.reduce("ReduceL2", x, {axis})
                                : make.reduce("ReduceSum", make("Abs", {x}), {axis});
  const double least = node.type(0).scalar == ir::Scalar::Float16 ? 6e-8 : 1.2e-38;
  const ValueId bound = make("Max", {length, make.number(least, node.type(0).scalar)});
  return make.end({make("Div", {x, bound})});
}

// (x - mean) / (deviation + 1e-9)
Outputs mean_variance_normalization(const NodeReader& node) {
  const List axes = node.list("axes", {0, 2, 3});
  Composer make(node);
  const ir::Scalar scalar = node.type(0).scalar;
  const ValueId x = make.cast(node.input(0), ir::Scalar::Float32);
  const ValueId off = make("Sub", {x, make.reduce("ReduceMean", x, axes)});
  const ValueId variance = make.reduce("ReduceMean", make("Mul", {off, off}), axes);
  const ValueId spread =
      make("Add", {make("Sqrt", {variance}), make.number(1e-9, ir::Scalar::Float32)});
  return make.end({make.cast(make("Div", {off, spread}), scalar)});
}

constexpr ReaderRow kNormalizationReaders[] = {
    {"GroupNormalization", group_normalization},
    {"LpNormalization", unit_length},
    {"MeanVarianceNormalization", mean_variance_normalization},
    {"RMSNormalization", root_mean_square_normalization},
    {"SimplifiedLayerNormalization", root_mean_square_normalization},
    {"LRN", local_response_normalization},
    {"BatchNormalization", batch_normalization},
    {"InstanceNormalization", instance_normalization},
    {"LayerNormalization", layer_normalization},
};

}  // namespace

std::span<const ReaderRow> normalization_readers() { return kNormalizationReaders; }

}  // namespace fettle::model
