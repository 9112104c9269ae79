// Nodes as stages, and their values by the reference evaluator (node_stages.h).
#include "host/model/graph/node_stages.h"

#include <algorithm>

#include "host/model/operators/call.h"
#include "host/space/json_reason.h"
#include "host/space/operators/shapes.h"
#include "host/space/operators/stages.h"
#include "host/space/stage_evaluator.h"

namespace fettle::model {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 30;
constexpr std::size_t kMostAxes = 8;

space::Stage placeholder(std::size_t input, const TensorType& type) {
  const auto shape = type.shape.empty() ? space::Shape{1} : type.shape;
  const ir::Scalar scalar = type.scalar == ir::Scalar::Bool ? ir::Scalar::UInt8 : type.scalar;
  return space::make_operand(scalar, "in" + std::to_string(input), space::named_axes(shape),
                             ir::Role::Input, input + 1, 1);
}

}  // namespace

Result<void> check_tensor(const TensorType& type) {
  if (type.shape.size() > kMostAxes) {
    return Error{ErrorCode::Unsupported, "a tensor of more than 8 axes"};
  }
  std::int64_t count = 1;
  for (const std::int64_t extent : type.shape) {
    if (extent < 1) return Error{ErrorCode::Unsupported, "a tensor without elements"};
    if (extent > kMostElements / count) {
      return Error{ErrorCode::Unsupported, "a tensor of more than 2^30 elements"};
    }
    count *= extent;
  }
  return {};
}

std::int64_t steps_of(const NodeStages& node) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  std::int64_t all = 0;
  for (const space::Stage& stage : node.stages) {
    if (stage.placeholder()) continue;
    std::int64_t steps = 1;
    for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (const space::Axis& axis : *axes) {
        steps =
            steps > kMost / std::max<std::int64_t>(axis.extent, 1) ? kMost : steps * axis.extent;
      }
    }
    all = std::min(kMost, all + std::min(steps, kMost - all));
  }
  return all;
}

Result<NodeStages> stages_of(const std::string& op, const nlohmann::json& attributes,
                             const std::vector<const TensorType*>& inputs) {
  const auto named = [&](Error error) { return Error{error.code, op + ": " + error.message}; };
  const Operator* row = find_operator(op);
  if (!row) return Error{ErrorCode::Unsupported, "the operator " + op};
  if (inputs.size() < row->least_inputs || inputs.size() > row->most_inputs) {
    return named({ErrorCode::InvalidArgument, "has " + std::to_string(inputs.size()) + " inputs"});
  }
  NodeStages out;
  std::vector<space::Stage> placeholders;
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) {
      if (i < row->least_inputs) return named({ErrorCode::InvalidArgument, "lacks an input"});
      types.emplace_back();
      placeholders.emplace_back();
      continue;
    }
    if (auto right = check_tensor(*inputs[i]); !right) return named(std::move(right).error());
    types.push_back(*inputs[i]);
    placeholders.push_back(placeholder(i, *inputs[i]));
  }
  std::vector<const space::Stage*> there;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    there.push_back(inputs[i] ? &placeholders[i] : nullptr);
    if (inputs[i]) out.stages.push_back(placeholders[i]);
  }
  const NodeCall call(attributes, there, types, out.stages);
  if (auto right = check_types(call, row->takes); !right) return named(std::move(right).error());
  try {
    if (row->view) {
      auto shape = row->view(call);
      if (!shape) return named(std::move(shape).error());
      out.view = true;
      out.output = {types.front().scalar, std::move(*shape)};
    } else {
      auto stage = row->write(call);
      if (!stage) return named(std::move(stage).error());
      out.stages.back().role = ir::Role::Output;
      const ir::Scalar scalar = stage->stage.buffer->type.scalar;
      out.output = {call.made_conditions() ? ir::Scalar::Bool : scalar, std::move(stage->shape)};
    }
  } catch (const nlohmann::json::exception& error) {
    return named({ErrorCode::InvalidArgument, space::json_reason(error)});
  }
  if (auto right = check_tensor(out.output); !right) return named(std::move(right).error());
  return out;
}

Result<TensorBytes> evaluate_node(const NodeStages& node, const std::vector<TensorBytes>& inputs,
                                  const std::stop_token& stop) {
  if (node.view) return inputs.front();
  std::map<ir::Buffer, space::Tensor> tensors;
  std::size_t input = 0;
  for (const space::Stage& stage : node.stages) {
    if (stage.placeholder()) {
      while (!inputs[input]) ++input;
      auto values = space::to_doubles(*inputs[input++], stage.buffer->type);
      if (!values) return std::move(values).error();
      tensors[stage.buffer] = std::move(*values);
      continue;
    }
    auto values = space::evaluate_stage(stage, tensors, stop);
    if (!values) return std::move(values).error();
    tensors[stage.buffer] = std::move(*values);
  }
  const ir::Buffer& last = node.stages.back().buffer;
  auto bytes = space::to_bytes(tensors[last], last->type);
  if (!bytes) return std::move(bytes).error();
  return std::make_shared<const std::vector<std::uint8_t>>(std::move(*bytes));
}

Result<std::vector<TensorBytes>> evaluate_graph(const Graph& graph,
                                                const std::vector<TensorBytes>& inputs,
                                                const std::stop_token& stop) {
  std::vector<TensorBytes> values(graph.values.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = graph.values[i].constant;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  for (const Node& node : graph.nodes) {
    std::vector<const TensorType*> types;
    std::vector<TensorBytes> read;
    for (const ValueId id : node.inputs) {
      types.push_back(id == kNoValue ? nullptr : &graph.type(id));
      read.push_back(id == kNoValue ? nullptr : values[id]);
    }
    auto stages = stages_of(node.op, node.attributes, types);
    if (!stages) return std::move(stages).error();
    auto value = evaluate_node(*stages, read, stop);
    if (!value) return std::move(value).error();
    values[node.outputs.front()] = std::move(*value);
  }
  std::vector<TensorBytes> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(values[id]);
  return outputs;
}

}  // namespace fettle::model
