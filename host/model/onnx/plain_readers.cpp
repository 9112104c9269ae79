// Operators that are ours by the same name, and constants.
#include <cmath>
#include <limits>

#include "host/model/onnx/composer.h"
#include "host/space/tensor.h"

namespace fettle::model {
namespace {

Outputs same(const NodeReader& node) { return one(node); }

// Of two tensors it is what others call Add.
Outputs sum(const NodeReader& node) {
  return one(node, node.inputs() == 2 ? "Add" : "Sum", json::object(), node.all_inputs());
}

Outputs leaky_relu(const NodeReader& node) {
  return one(node, {{"alpha", node.number("alpha", 0.01)}});
}
Outputs elu(const NodeReader& node) {
  return one(node, {{"alpha", node.number("alpha", 1)}, {"gamma", 1.0}});
}
Outputs selu(const NodeReader& node) {
  return one(node, "Elu",
             {{"alpha", node.number("alpha", 1.67326319217681884765625)},
              {"gamma", node.number("gamma", 1.05070102214813232421875)}},
             {node.input(0)});
}
Outputs hard_sigmoid(const NodeReader& node) {
  return one(node, {{"alpha", node.number("alpha", 0.2)}, {"beta", node.number("beta", 0.5)}});
}

// Bounds are attributes before opset 11, inputs from then on. Of whole numbers one that is not
// there is none: no number stands for it.
Outputs clip(const NodeReader& node) {
  const ir::Scalar scalar = node.type(0).scalar;
  const bool floats = ir::DataType{scalar}.is_float();
  const auto there = [&](const char* name, std::size_t input) {
    return node.has(name) || node.has_input(input);
  };
  const auto unknown = [&](std::size_t input) {
    return node.has_input(input) && !node.numbers(input);
  };
  if (unknown(1) || unknown(2)) {
    Composer make(node);
    ValueId x = node.input(0);
    if (node.has_input(1)) x = make("Max", {x, node.input(1)});
    if (node.has_input(2)) x = make("Min", {x, node.input(2)});
    return make.end({x});
  }
  const bool has_low = there("min", 1), has_high = there("max", 2);
  const double most = std::numeric_limits<float>::max();
  auto low = node.number_parameter("min", 1, -most), high = node.number_parameter("max", 2, most);
  if (!low) return std::move(low).error();
  if (!high) return std::move(high).error();
  if (floats || (has_low && has_high)) {
    return one(node, "Clip", {{"min", *low}, {"max", *high}}, {node.input(0)});
  }
  if (!has_low && !has_high) return one(node, "Identity", json::object(), {node.input(0)});
  Composer make(node);
  const ValueId bound = make.number(has_low ? *low : *high, scalar);
  return make.end({make(has_low ? "Max" : "Min", {node.input(0), bound})});
}

// Both are known, as in embeddings of places: base and exponent of one length, or one number.
std::optional<ValueId> known_power(const NodeReader& node) {
  const auto base = node.numbers(0), exponent = node.numbers(1);
  if (!base || !exponent || exponent->size() == 1 || !ir::DataType{node.type(0).scalar}.is_float())
    return std::nullopt;
  if (base->size() != 1 && node.shape(0) != node.shape(1)) return std::nullopt;
  if (node.shape(0).size() > node.shape(1).size()) return std::nullopt;
  std::vector<double> powers;
  for (std::size_t i = 0; i < exponent->size(); ++i) {
    powers.push_back(std::pow((*base)[base->size() == 1 ? 0 : i], (*exponent)[i]));
  }
  const TensorType type{node.type(0).scalar, node.shape(1)};
  auto bytes = space::to_bytes(powers, {type.scalar, 1});
  if (!bytes) return std::nullopt;
  return node.constant({type, std::move(*bytes)});
}

Outputs power(const NodeReader& node) {
  if (const auto known = known_power(node)) return std::vector<ValueId>{*known};
  if (!node.has_input(1)) return node.invalid("has no exponent");
  const auto exponents = node.numbers(1);
  if (!exponents || exponents->size() != 1) {
    Composer make(node);
    const ValueId exponent = make.cast(node.input(1), ir::Scalar::Float32);
    return make.end({make("PowerOf", {node.input(0), exponent})});
  }
  auto exponent = node.number_parameter("exponent", 1, 1);
  if (!exponent) return std::move(exponent).error();
  // One with more axes gives them to the result.
  NodeReader::List shape = node.shape(0);
  const std::size_t rank = node.shape(1).size();
  auto raised = node.add("Pow", {{"exponent", *exponent}}, {node.input(0)});
  if (!raised) return std::move(raised).error();
  if (rank <= shape.size()) return std::vector<ValueId>{*raised};
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return one(node, "Reshape", {{"shape", shape}, {"allowzero", 0}}, {*raised});
}

Outputs cast(const NodeReader& node) {
  auto to = scalar_of(static_cast<int>(node.integer("to", 0)));
  if (!to) return std::move(to).error();
  return one(node, {{"to", ir::to_string(ir::DataType{*to})}});
}

// As when a network is used: nothing is dropped.
Outputs dropout(const NodeReader& node) {
  auto training = node.parameter("training_mode", 2, {0});
  if (!training) return std::move(training).error();
  if (*training != NodeReader::List{0}) return node.unsupported("training");
  return one(node, "Identity", json::object(), {node.input(0)});
}

Outputs gemm(const NodeReader& node) {
  return one(node, {{"alpha", node.number("alpha", 1)},
                    {"beta", node.number("beta", 1)},
                    {"transA", node.integer("transA", 0)},
                    {"transB", node.integer("transB", 0)}});
}

// Whole numbers by one that is known, which is the second input.
std::optional<std::int64_t> known_divisor(const NodeReader& node, int sign = 1) {
  const auto by = node.numbers(1);
  const bool whole = ir::DataType{node.type(0).scalar}.is_int();
  if (!whole || !by || by->size() != 1 || node.shape(1).size() > node.shape(0).size()) return {};
  const double size = sign * by->front();
  if (!(size >= 1 && size < static_cast<double>(NodeReader::kMost))) return {};
  return static_cast<std::int64_t>(size);
}

Outputs divide(const NodeReader& node) {
  const auto by = known_divisor(node);
  if (const auto below = known_divisor(node, -1); below && !node.numbers(0)) {
    Composer make(node);
    return make.end({make("Neg", {make("DivideBy", {node.input(0)}, {{"by", *below}})})});
  }
  if (!by || node.numbers(0)) return one(node);
  return one(node, "DivideBy", {{"by", *by}}, {node.input(0)});
}

Outputs remainder(const NodeReader& node) {
  const auto by = known_divisor(node);
  if (!by) return node.unsupported("other than whole numbers by one that is known and above 0");
  return one(node, "RestOf", {{"by", *by}, {"fmod", node.integer("fmod", 0)}}, {node.input(0)});
}

Outputs einsum(const NodeReader& node) {
  return one(node, {{"equation", node.word("equation", "")}});
}

Outputs constant(const NodeReader& node) {
  OnnxTensor tensor;
  if (const auto* value = node.attribute("value")) {
    auto read = read_tensor(value->t());
    if (!read) return std::move(read).error();
    tensor = std::move(*read);
  } else if (node.has("value_int") || node.has("value_ints")) {
    const bool scalar = node.has("value_int");
    return std::vector<ValueId>{scalar ? node.constant({node.integer("value_int", 0)}, true)
                                       : node.constant(node.list("value_ints", {}))};
  } else if (const auto* number = node.attribute("value_float")) {
    const float f = number->f();
    tensor.type = {ir::Scalar::Float32, {}};
    tensor.bytes.assign(reinterpret_cast<const std::uint8_t*>(&f),
                        reinterpret_cast<const std::uint8_t*>(&f) + sizeof f);
  } else if (const auto* list = node.attribute("value_floats")) {
    tensor.type = {ir::Scalar::Float32, {list->floats_size()}};
    const auto* data = reinterpret_cast<const std::uint8_t*>(list->floats().data());
    tensor.bytes.assign(data, data + sizeof(float) * static_cast<std::size_t>(list->floats_size()));
  } else {
    return node.unsupported("its kind of value");
  }
  return std::vector<ValueId>{node.constant(std::move(tensor))};
}

constexpr ReaderRow kPlainReaders[] = {
    {"Add", same},          {"Sub", same},
    {"Mul", same},          {"Div", divide},
    {"Mod", remainder},     {"Max", same},
    {"Min", same},          {"Sum", sum},
    {"Mean", same},         {"Equal", same},
    {"Less", same},         {"LessOrEqual", same},
    {"Greater", same},      {"GreaterOrEqual", same},
    {"And", same},          {"Or", same},
    {"Xor", same},          {"Not", same},
    {"Where", same},        {"MatMul", same},
    {"Einsum", einsum},     {"Gemm", gemm},
    {"Relu", same},         {"LeakyRelu", leaky_relu},
    {"PRelu", same},        {"Elu", elu},
    {"Selu", selu},         {"Clip", clip},
    {"Sigmoid", same},      {"HardSigmoid", hard_sigmoid},
    {"HardSwish", same},    {"Tanh", same},
    {"Erf", same},          {"Exp", same},
    {"Log", same},          {"Sin", same},
    {"Cos", same},          {"Softplus", same},
    {"Mish", same},         {"IsNaN", same},
    {"Sign", same},         {"Sqrt", same},
    {"Reciprocal", same},   {"Softsign", same},
    {"Ceil", same},         {"Floor", same},
    {"Abs", same},          {"Neg", same},
    {"Pow", power},         {"Cast", cast},
    {"Identity", same},     {"Dropout", dropout},
    {"Constant", constant},
};

}  // namespace

std::span<const ReaderRow> plain_readers() { return kPlainReaders; }

Reader find_reader(const std::string& op) {
  static const std::unordered_map<std::string, Reader> rows = [] {
    std::unordered_map<std::string, Reader> all;
    for (const auto family :
         {plain_readers(), quantized_readers(), shape_readers(), slice_readers(), gather_readers(),
          scatter_readers(), recurrent_readers(), resize_readers(), reduction_readers(),
          window_readers(), composed_readers(), normalization_readers(), onnxruntime_readers(),
          ranking_readers(), attention_readers(), signal_readers()}) {
      for (const ReaderRow& row : family) all[row.op] = row.read;
    }
    return all;
  }();
  const auto at = rows.find(op);
  return at == rows.end() ? nullptr : at->second;
}

}  // namespace fettle::model
