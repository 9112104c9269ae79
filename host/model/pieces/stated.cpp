// Nodes by their stages, on values that lie in other orders (stated.h).
#include "host/model/pieces/stated.h"

#include "host/ir/loads.h"
#include "host/model/graph/node_stages.h"
#include "host/space/dag_text/dag_json.h"
#include "host/space/tiled_axis.h"

namespace fettle::model {
namespace {

template <typename T>
std::vector<T> permuted(const std::vector<T>& list, const Order& order) {
  std::vector<T> out;
  for (const std::size_t at : order) out.push_back(list[at]);
  return out;
}

// The placeholder holds its tensor in that order; whoever reads it does so there.
void lay_input(std::vector<space::Stage>& stages, std::size_t placeholder, const Order& order) {
  space::Stage& stage = stages[placeholder];
  const ir::Buffer before = stage.buffer;
  stage.axes = permuted(stage.axes, order);
  stage.buffer = space::make_buffer(stage.name, before->type, stage.axes);
  for (space::Stage& reader : stages) {
    if (!reader.body) continue;
    reader.body = ir::replace_loads(reader.body, before, [&](const ir::Load& load) {
      return ir::load(stage.buffer, permuted(load.indices, order), load.predicate);
    });
  }
}

void lay_output(space::Stage& stage, const Order& order) {
  if (stage.store_at.empty()) {
    stage.axes = permuted(stage.axes, order);
    stage.buffer = space::make_buffer(stage.name, stage.buffer->type, stage.axes);
    return;
  }
  stage.store_at = permuted(stage.store_at, order);
  auto buffer = *stage.buffer;
  buffer.shape = permuted(buffer.shape, order);
  stage.buffer = std::make_shared<const ir::BufferDecl>(std::move(buffer));
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
    lay_output(stages.back(), out.written);
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
