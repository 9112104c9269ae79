// Composer (composer.h).
#include "host/model/onnx/composer.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "host/space/tensor.h"

namespace fettle::model {

ValueId Composer::operator()(const std::string& op, std::vector<ValueId> inputs, json attributes) {
  if (error_) return kNoValue;
  auto made = node_.add(op, std::move(attributes), std::move(inputs));
  if (made) return *made;
  error_ = std::move(made).error();
  return kNoValue;
}

ValueId Composer::constant(const std::vector<double>& values, TensorType type) {
  if (error_) return kNoValue;
  auto bytes = space::to_bytes(values, {type.scalar, 1});
  if (bytes) return node_.constant(OnnxTensor{std::move(type), std::move(*bytes)});
  error_ = std::move(bytes).error();
  return kNoValue;
}

ValueId Composer::number(double value, ir::Scalar scalar) {
  return constant({value}, {scalar, {}});
}

ValueId Composer::places(std::int64_t extent, std::size_t behind, ir::Scalar scalar) {
  std::vector<double> values(static_cast<std::size_t>(extent));
  std::iota(values.begin(), values.end(), 0);
  TensorType type{scalar, NodeReader::List(behind + 1, 1)};
  type.shape.front() = extent;
  return constant(values, std::move(type));
}

ValueId Composer::cast(ValueId x, ir::Scalar to) {
  if (type(x).scalar == to) return x;
  return (*this)("Cast", {x}, {{"to", ir::to_string(ir::DataType{to})}});
}

ValueId Composer::reshape(ValueId x, const NodeReader::List& shape) {
  return (*this)("Reshape", {x}, {{"shape", shape}, {"allowzero", 0}});
}

ValueId Composer::reduce(const std::string& op, ValueId x, const NodeReader::List& axes) {
  return (*this)(op, {x}, {{"axes", axes}, {"keepdims", 1}, {"noop_with_empty_axes", 0}});
}

ValueId Composer::extreme_place(ValueId x, std::int64_t axis, bool smallest, bool last, bool keep) {
  const ValueId extreme = reduce(smallest ? "ReduceMin" : "ReduceMax", x, {axis});
  return (*this)("ExtremePlace", {x, extreme},
                 {{"axis", axis},
                  {"smallest", smallest ? 1 : 0},
                  {"select_last_index", last ? 1 : 0},
                  {"keepdims", keep ? 1 : 0}});
}

ValueId Composer::gelu_by_tanh(ValueId x) {
  const ir::Scalar scalar = type(x).scalar;
  const auto made = [&](const char* op, ValueId a, ValueId b) { return (*this)(op, {a, b}); };
  const ValueId cube = made("Mul", made("Mul", x, x), x);
  const ValueId inner = made("Add", x, made("Mul", cube, number(0.044715, scalar)));
  const double factor = std::sqrt(2 * std::numbers::inv_pi);
  const ValueId gate = (*this)("Tanh", {made("Mul", inner, number(factor, scalar))});
  const ValueId half = made("Mul", x, number(0.5, scalar));
  return made("Mul", half, made("Add", gate, number(1, scalar)));
}

Outputs Composer::end(std::vector<ValueId> outputs) const {
  if (error_) return *error_;
  return outputs;
}

Outputs along_axis(const NodeReader& node,
                   const std::function<ValueId(Composer&, ValueId, std::int64_t)>& value) {
  Composer make(node);
  if (node.opset() >= 13) {
    return make.end({value(make, node.input(0), node.integer("axis", -1))});
  }
  const ValueId flat = make("Flatten", {node.input(0)}, {{"axis", node.integer("axis", 1)}});
  return make.end({make.reshape(value(make, flat, 1), node.shape(0))});
}

}  // namespace fettle::model
