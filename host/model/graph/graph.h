// A network as a graph: values and the nodes that compute them, each an operator
// (host/model/operators) with its attributes. What is computed is said by the operators' stages;
// how it is tuned and run is others'.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "host/ir/type.h"

namespace fettle::model {

struct TensorType {
  ir::Scalar scalar = ir::Scalar::Float32;
  std::vector<std::int64_t> shape;  // static; empty: one element

  std::int64_t elements() const;
  std::int64_t bytes() const { return elements() * ir::DataType{scalar}.bytes(); }
  bool operator==(const TensorType&) const = default;
};
std::string to_string(const TensorType& type);  // "float32 1x3x224x224"

using ValueId = std::uint32_t;
inline constexpr ValueId kNoValue = ~ValueId{0};  // an optional input that is not there

struct Value {
  std::string name;  // as the model names it; unique
  TensorType type;
  // Row-major, as a program's buffer holds it. Null: computed, or an input.
  std::shared_ptr<const std::vector<std::uint8_t>> constant;
};

struct Node {
  std::string op;    // of the registry (host/model/operators/operators.h)
  std::string name;  // as the model names it; may be empty
  nlohmann::json attributes = nlohmann::json::object();  // all of them, defaults filled in
  std::vector<ValueId> inputs, outputs;
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;  // producers before consumers
  std::vector<ValueId> inputs, outputs;

  const TensorType& type(ValueId id) const { return values[id].type; }
};

// For people: a line a node.
std::string to_text(const Graph& graph);

}  // namespace fettle::model
