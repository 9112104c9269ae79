// Nodes of ours for one of ONNX's, one after the other.
#pragma once

#include <functional>

#include "host/model/onnx/readers.h"

namespace fettle::model {

// After a node that cannot be made nothing else is: values are kNoValue then, their types empty,
// and end() tells what was wrong.
class Composer {
 public:
  explicit Composer(const NodeReader& node) : node_(node) {}

  ValueId operator()(const std::string& op, std::vector<ValueId> inputs,
                     json attributes = json::object());
  // A constant without axes, of that type.
  ValueId number(double value, ir::Scalar scalar);
  // 0, 1, 2 … of an axis as long as `extent`, with `behind` axes of extent 1 behind it.
  ValueId places(std::int64_t extent, std::size_t behind, ir::Scalar scalar);
  ValueId constant(const std::vector<double>& values, TensorType type);

  ValueId cast(ValueId x, ir::Scalar to);
  ValueId reshape(ValueId x, const NodeReader::List& shape);
  // Along these axes, which stay with extent 1.
  ValueId reduce(const std::string& op, ValueId x, const NodeReader::List& axes);
  // Of the largest or smallest element of an axis, which stays with extent 1 or does not.
  ValueId extreme_place(ValueId x, std::int64_t axis, bool smallest, bool last, bool keep);
  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  ValueId gelu_by_tanh(ValueId x);

  TensorType type(ValueId id) const { return error_ ? TensorType{} : node_.type_of(id); }
  NodeReader::List shape(ValueId id) const { return type(id).shape; }
  // Where they are known.
  std::optional<std::vector<double>> numbers(ValueId id) const {
    return error_ ? std::nullopt : node_.numbers_of(id);
  }
  const std::optional<Error>& error() const { return error_; }
  Outputs end(std::vector<ValueId> outputs) const;

 private:
  const NodeReader& node_;
  std::optional<Error> error_;
};

// Of an operator that goes along its attribute `axis`; before opset 13 along all axes from there on
// at once, so that x has two then. The value has the shape of x.
Outputs along_axis(const NodeReader& node,
                   const std::function<ValueId(Composer&, ValueId x, std::int64_t axis)>& value);

}  // namespace fettle::model
