// Makes a graph node by node: types follow from the operators, and what is made of constants only
// is computed at once.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "host/model/graph/graph.h"
#include "schemas/wire/result.h"

namespace fettle::model {

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name) { graph_.name = std::move(name); }

  // Names that are taken, or "", are made unique, until name() gives them away.
  ValueId input(const std::string& name, TensorType type);
  ValueId constant(const std::string& name, TensorType type, std::vector<std::uint8_t> bytes);
  // The node's one output. Errors name the operator. Weights that are dequantised stay integers.
  Result<ValueId> add(const std::string& op, nlohmann::json attributes, std::vector<ValueId> inputs,
                      const std::string& output, const std::string& node = "");

  // The model's own name for a value that nodes make; what else had it gets another. The first
  // that a value gets counts, and an input's stays.
  void name(ValueId id, const std::string& name);
  // The next name() counts: what it was called was a name within a part of the model.
  void forget_name(ValueId id) { made_up_.insert(id); }
  std::size_t values() const { return graph_.values.size(); }

  // Until the next value is made.
  const Value& value(ValueId id) const { return graph_.values[id]; }
  // Of a constant of a whole type; null: it is none.
  std::optional<std::vector<std::int64_t>> whole_numbers(ValueId id) const;
  std::optional<std::vector<double>> numbers(ValueId id) const;  // of a constant

  // Without the nodes that no output needs.
  Graph finish(std::vector<ValueId> outputs);

 private:
  ValueId new_value(const std::string& name, TensorType type);
  std::string unique(const std::string& name, ValueId id);

  Graph graph_;
  // Of computing constants: shapes are known however many weights are computed.
  static constexpr std::int64_t kFewSteps = 4096;
  std::int64_t steps_left_ = std::int64_t{1} << 26, few_left_ = std::int64_t{1} << 26;
  std::unordered_map<std::string, ValueId> names_;
  std::unordered_set<ValueId> made_up_;  // whose names are
};

}  // namespace fettle::model
