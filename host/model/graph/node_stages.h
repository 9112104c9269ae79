// A node as stages of a compute DAG.
#pragma once

#include <stop_token>

#include "host/model/graph/graph.h"
#include "host/space/compute_dag.h"
#include "schemas/wire/result.h"

namespace fettle::model {

struct NodeStages {
  // A placeholder for each input that is there, of numbers that show a missing term; then the
  // node's.
  std::vector<space::Stage> stages;
  TensorType output;
  bool view = false;  // no stage of its own: the input's elements with another shape
};

// Unsupported: more than 8 axes, more than 2^30 elements, or none.
Result<void> check_tensor(const TensorType& type);

// What the reference does for the node: values computed, each as often as it is summed over. At
// most 2^62.
std::int64_t steps_of(const NodeStages& node);

// Unsupported and InvalidArgument name the operator.
Result<NodeStages> stages_of(const std::string& op, const nlohmann::json& attributes,
                             const std::vector<const TensorType*>& inputs);

// The bytes of a node's output from those of its inputs, by the reference evaluator. Canceled: soon
// after `stop`.
using TensorBytes = std::shared_ptr<const std::vector<std::uint8_t>>;
Result<TensorBytes> evaluate_node(const NodeStages& node, const std::vector<TensorBytes>& inputs,
                                  const std::stop_token& stop = {});

// The graph's outputs from its inputs, node by node: what passes and compiled code are held to.
Result<std::vector<TensorBytes>> evaluate_graph(const Graph& graph,
                                                const std::vector<TensorBytes>& inputs,
                                                const std::stop_token& stop = {});

}  // namespace fettle::model
