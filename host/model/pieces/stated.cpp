// Nodes by their stages, on values that lie in other orders (stated.h).
#include "host/model/pieces/stated.h"

#include <cassert>

#include "host/ir/loads.h"
#include "host/model/graph/node_stages.h"
#include "host/space/dag_text/dag_json.h"
#include "host/space/tiled_axis.h"

namespace fettle::model {
namespace {

template <typename T>
std::vector<T> permuted(const std::vector<T>& list, const Order& order) {
  assert(list.size() == order.size());
  std::vector<T> out;
  for (const std::size_t at : order) out.push_back(list[at]);
  return out;
}

void read_in_order(std::vector<space::Stage>& stages, const ir::Buffer& before,
                   const ir::Buffer& after, const Order& order) {
  for (space::Stage& reader : stages) {
    if (!reader.body) continue;
    reader.body = ir::replace_loads(reader.body, before, [&](const ir::Load& load) {
      return ir::load(after, permuted(load.indices, order), load.predicate);
    });
  }
}

// The placeholder holds its tensor in that order; whoever reads it does so there.
void lay_input(std::vector<space::Stage>& stages, std::size_t placeholder, const Order& order) {
  space::Stage& stage = stages[placeholder];
  const ir::Buffer before = stage.buffer;
  stage.axes = permuted(stage.axes, order);
  stage.buffer = space::make_buffer(stage.name, before->type, stage.axes);
  read_in_order(stages, before, stage.buffer, order);
}

// What it computes lies in that order; whoever reads it does so there.
void lay_computed(std::vector<space::Stage>& stages, space::Stage& stage, const Order& order) {
  const ir::Buffer before = stage.buffer;
  if (stage.store_at.empty()) {
    stage.axes = permuted(stage.axes, order);
    stage.buffer = space::make_buffer(stage.name, before->type, stage.axes);
  } else {
    stage.store_at = permuted(stage.store_at, order);
    auto buffer = *before;
    buffer.shape = permuted(buffer.shape, order);
    stage.buffer = std::make_shared<const ir::BufferDecl>(std::move(buffer));
  }
  read_in_order(stages, before, stage.buffer, order);
}

// All that has the output's axes: a loop over it goes one way through them.
void lay_output(std::vector<space::Stage>& stages, const Order& order) {
  const auto shape = stages.back().buffer->shape;
  for (space::Stage& stage : stages) {
    if (!stage.placeholder() && stage.buffer->shape == shape) lay_computed(stages, stage, order);
  }
}

}  // namespace

Result<StatedNode> state_node(const Graph& graph, const Node& node,
                              const std::vector<Order>& orders) {
  std::vector<const TensorType*> types;
  for (const ValueId id : node.inputs) types.push_back(id == kNoValue ? nullptr : &graph.type(id));
  auto written = stages_of(node.op, node.attributes, types);
  if (!written) return std::move(written).error();
  std::vector<space::Stage>& stages = written->stages;
  StatedNode out;
  std::size_t placeholder = 0;
  for (const ValueId id : node.inputs) {
    if (id == kNoValue) continue;
    const bool constant = graph.values[id].constant != nullptr;
    if (constant) stages[placeholder].role = ir::Role::Constant;
    out.inputs.push_back(
        {id, constant ? Order{} : without_blocks(orders[id], graph.type(id).shape.size())});
    if (!out.inputs.back().order.empty()) {
      lay_input(stages, placeholder, out.inputs.back().order);
    }
    ++placeholder;
  }
  const ValueId output = node.outputs.front();
  if (!orders[output].empty() && stages.back().buffer->shape == graph.type(output).shape) {
    out.written = orders[output];
    lay_output(stages, out.written);
  }
  space::ComputeDag dag;
  dag.stages = std::move(stages);
  auto text = space::json_of(dag);
  if (!text) return std::move(text).error();
  (*text)["title"] = node.op + " " + to_string(graph.type(output));
  auto workload = space::Workload::parse(*text);
  if (!workload) return std::move(workload).error();
  out.workload = std::move(*workload);
  return out;
}

}  // namespace fettle::model
