// GraphBuilder (builder.h).
#include "host/model/graph/builder.h"

#include <cstring>
#include <limits>
#include <set>

#include "host/model/graph/node_stages.h"
#include "host/model/graph/users.h"
#include "host/space/tensor.h"

namespace fettle::model {
namespace {

// Operators that compute with what they are given, and do not only move or choose it.
bool is_arithmetic(const std::string& op) {
  static const std::set<std::string> all = {"Add", "Sub", "Mul", "Div",       "DivideBy", "RestOf",
                                            "Neg", "Abs", "Sum", "ReduceSum", "CumSum"};
  return all.contains(op);
}

// Whether doubles, which nodes are evaluated in, hold its elements: of int64 those beyond 2^53 they
// do not, but its `ends`, which stand for "all".
bool held_by_doubles(ir::Scalar scalar, const TensorBytes& bytes, bool ends) {
  if (scalar != ir::Scalar::Int64 || !bytes) return true;
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  for (std::size_t at = 0; at + sizeof kMost <= bytes->size(); at += sizeof kMost) {
    std::int64_t value;
    std::memcpy(&value, bytes->data() + at, sizeof value);
    const bool end = value <= -std::numeric_limits<std::int64_t>::max() ||
                     value == std::numeric_limits<std::int64_t>::max();
    if (!(end && ends) && (value < -kMost || value > kMost)) return false;
  }
  return true;
}

}  // namespace

ValueId GraphBuilder::new_value(const std::string& name, TensorType type) {
  const auto id = static_cast<ValueId>(graph_.values.size());
  graph_.values.push_back({unique(name, id), std::move(type), nullptr});
  return id;
}

std::string GraphBuilder::unique(const std::string& name, ValueId id) {
  const std::string wanted = name.empty() ? "value" : name;
  std::string given = wanted;
  for (int i = 1; !names_.emplace(given, id).second; ++i) given = wanted + "_" + std::to_string(i);
  return given;
}

void GraphBuilder::name(ValueId id, const std::string& name) {
  if (made_up_.erase(id) == 0 || graph_.values[id].name == name) return;
  names_.erase(graph_.values[id].name);
  const auto holder = names_.find(name);
  if (holder != names_.end() && made_up_.count(holder->second) > 0) {
    const ValueId other = holder->second;
    names_.erase(holder);
    graph_.values[id].name = unique(name, id);
    graph_.values[other].name = unique(name, other);
    return;
  }
  graph_.values[id].name = unique(name, id);
}

ValueId GraphBuilder::input(const std::string& name, TensorType type) {
  const ValueId id = new_value(name, std::move(type));
  graph_.inputs.push_back(id);
  return id;
}

ValueId GraphBuilder::constant(const std::string& name, TensorType type,
                               std::vector<std::uint8_t> bytes) {
  const ValueId id = new_value(name, std::move(type));
  made_up_.insert(id);  // a reader's may stand in an output's way
  graph_.values[id].constant = std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
  return id;
}

Result<ValueId> GraphBuilder::add(const std::string& op, nlohmann::json attributes,
                                  std::vector<ValueId> inputs, const std::string& output,
                                  const std::string& node) {
  while (!inputs.empty() && inputs.back() == kNoValue) inputs.pop_back();
  std::vector<const TensorType*> types;
  std::vector<TensorBytes> constants;
  bool known = true;
  for (const ValueId id : inputs) {
    types.push_back(id == kNoValue ? nullptr : &graph_.values[id].type);
    constants.push_back(id == kNoValue ? nullptr : graph_.values[id].constant);
    known &= id == kNoValue || graph_.values[id].constant;
  }
  auto stages = stages_of(op, attributes, types);
  if (!stages) return std::move(stages).error();
  const ValueId id = new_value(output, stages->output);
  made_up_.insert(id);
  const std::int64_t steps = steps_of(*stages);
  // Passes that compute in integers want the integers (passes/quantized.h).
  known &= op != "DequantizeLinear";
  std::int64_t& left = steps <= kFewSteps ? few_left_ : steps_left_;
  if (known && steps <= left) {
    left -= steps;
    auto value = evaluate_node(*stages, constants);
    if (!value) return std::move(value).error();
    // Else it is computed as the network runs, where integers are integers.
    const bool ends = !is_arithmetic(op);
    bool held = held_by_doubles(stages->output.scalar, *value, ends);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      held &= !types[i] || held_by_doubles(types[i]->scalar, constants[i], ends);
    }
    if (held || stages->view) {
      graph_.values[id].constant = std::move(*value);
      return id;
    }
  }
  graph_.nodes.push_back({op, node, std::move(attributes), std::move(inputs), {id}});
  return id;
}

std::optional<std::vector<double>> GraphBuilder::numbers(ValueId id) const {
  const Value& value = graph_.values[id];
  if (!value.constant) return std::nullopt;
  auto values = space::to_doubles(*value.constant, {value.type.scalar, 1});
  if (!values) return std::nullopt;
  return std::move(*values);
}

std::optional<std::vector<std::int64_t>> GraphBuilder::whole_numbers(ValueId id) const {
  const Value& value = graph_.values[id];
  if (!value.constant) return std::nullopt;
  std::vector<std::int64_t> list;
  if (value.type.scalar == ir::Scalar::Int64) {
    list.resize(value.constant->size() / sizeof list[0]);
    if (!list.empty()) std::memcpy(list.data(), value.constant->data(), value.constant->size());
    return list;
  }
  if (ir::DataType{value.type.scalar}.is_float()) return std::nullopt;
  const auto doubles = numbers(id);
  if (!doubles) return std::nullopt;
  for (const double number : *doubles) list.push_back(static_cast<std::int64_t>(number));
  return list;
}

Graph GraphBuilder::finish(std::vector<ValueId> outputs) {
  graph_.outputs = std::move(outputs);
  drop_unread(graph_);
  return std::move(graph_);
}

}  // namespace fettle::model
