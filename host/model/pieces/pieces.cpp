// Cutting a network into pieces (pieces.h).
#include "host/model/pieces/pieces.h"

#include <algorithm>

#include "host/model/graph/node_stages.h"
#include "host/model/graph/users.h"
#include "host/model/operators/operators.h"
#include "host/model/pieces/library_call.h"
#include "host/space/dag_text/dag_json.h"

namespace fettle::model {
namespace {

using nlohmann::json;

// An operator of the library while its tail grows.
struct Anchor {
  std::size_t node;
  json call;
  space::Workload workload;
};

// A node by its stages.
Result<space::Workload> stated(const Graph& graph, const Node& node) {
  std::vector<const TensorType*> types;
  for (const ValueId id : node.inputs) types.push_back(id == kNoValue ? nullptr : &graph.type(id));
  auto stages = stages_of(node.op, node.attributes, types);
  if (!stages) return std::move(stages).error();
  std::size_t input = 0;
  for (space::Stage& stage : stages->stages) {
    if (!stage.placeholder()) continue;
    while (node.inputs[input] == kNoValue) ++input;
    if (graph.values[node.inputs[input++]].constant) stage.role = ir::Role::Constant;
  }
  space::ComputeDag dag;
  dag.stages = std::move(stages->stages);
  auto text = space::json_of(dag);
  if (!text) return std::move(text).error();
  (*text)["title"] = node.op + " " + to_string(graph.type(node.outputs.front()));
  return space::Workload::parse(*text);
}

class Cutter {
 public:
  explicit Cutter(const Graph& graph)
      : graph_(graph),
        readers_(readers_of(graph)),
        outputs_(outputs_of(graph)),
        taken_(graph.nodes.size()) {}

  Pieces run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      auto call = library_call(graph_, graph_.nodes[n]);
      if (!call) continue;
      auto workload = space::Workload::parse(*call);
      if (workload) anchors_.push_back({n, std::move(*call), std::move(*workload)});
    }
    // Who has more to do takes what two could.
    std::stable_sort(anchors_.begin(), anchors_.end(), [](const Anchor& a, const Anchor& b) {
      return a.workload.operations() > b.workload.operations();
    });
    for (Anchor& anchor : anchors_) {
      if (!taken_[anchor.node]) grow(anchor);
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (taken_[n] || find_operator(node.op)->view) continue;
      auto workload = stated(graph_, node);
      if (workload) {
        pieces_.push_back({{n}, std::move(*workload)});
      } else {
        const std::string name = graph_.values[node.outputs.front()].name;
        untuned_.push_back({node.op + " (" + name + ")", workload.error().message});
      }
    }
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.nodes.back() < b.nodes.back(); });
    return {std::move(pieces_), std::move(untuned_)};
  }

 private:
  // Takes steps behind the anchor for as long as the library has an operator with that tail.
  void grow(Anchor& anchor) {
    Piece piece{{anchor.node}, std::move(anchor.workload)};
    taken_[anchor.node] = true;
    // Images have their channels behind the batch, as ONNX has them; all else at the end.
    const bool image = anchor.call.contains("layout");
    ValueId value = graph_.nodes[anchor.node].outputs.front();
    while (const Node* next = only_reader(graph_, readers_, outputs_, value)) {
      const std::size_t n = static_cast<std::size_t>(next - graph_.nodes.data());
      const std::size_t channel = image ? 1 : graph_.type(value).shape.size() - 1;
      const auto step = taken_[n] ? std::nullopt : tail_step(graph_, *next, value, channel);
      if (!step) break;
      json longer = anchor.call;
      longer["tail"].push_back(*step);
      auto workload = space::Workload::parse(longer);
      if (!workload) break;
      anchor.call = std::move(longer);
      piece.workload = std::move(*workload);
      piece.nodes.push_back(n);
      taken_[n] = true;
      value = next->outputs.front();
    }
    pieces_.push_back(std::move(piece));
  }

  const Graph& graph_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> outputs_, taken_;
  std::vector<Anchor> anchors_;
  std::vector<Piece> pieces_;
  std::vector<SkippedTask> untuned_;
};

}  // namespace

Pieces pieces_of(const Graph& graph) { return Cutter(graph).run(); }

TaskList tasks_of(const std::string& name, const Pieces& pieces) {
  TaskList list{name, {}, pieces.untuned};
  for (const Piece& piece : pieces.pieces) {
    const auto same =
        std::find_if(list.tasks.begin(), list.tasks.end(),
                     [&](const space::Task& task) { return task.workload == piece.workload; });
    if (same != list.tasks.end()) {
      same->weight += 1;
    } else {
      list.tasks.push_back({piece.workload, 1});
    }
  }
  return list;
}

}  // namespace fettle::model
