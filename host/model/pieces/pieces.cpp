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
  std::size_t node = 0;
  json call;
  double operations = 0;
};

// A node by its stages, its inputs filled with numbers that show a missing term.
Result<space::Workload> stated(const Graph& graph, const Node& node) {
  std::vector<const TensorType*> types;
  for (const ValueId id : node.inputs) types.push_back(id == kNoValue ? nullptr : &graph.type(id));
  auto stages = stages_of(node.op, node.attributes, types);
  if (!stages) return std::move(stages).error();
  std::uint64_t stream = 1;
  std::size_t input = 0;
  for (space::Stage& stage : stages->stages) {
    if (!stage.placeholder()) continue;
    while (node.inputs[input] == kNoValue) ++input;
    if (graph.values[node.inputs[input++]].constant) stage.role = ir::Role::Constant;
    const bool real = stage.buffer->type.is_float();
    stage.fill = real ? ir::Fill{ir::Fill::Kind::UniformReal, 0.25, 1, stream++}
                      : ir::Fill{ir::Fill::Kind::UniformInt, -127, 127, stream++};
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

  Result<std::vector<Piece>> run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      auto call = library_call(graph_, graph_.nodes[n]);
      if (!call) continue;
      auto workload = space::Workload::parse(*call);
      if (workload) anchors_.push_back({n, std::move(*call), workload->operations()});
    }
    // Who has more to do takes what two could.
    std::stable_sort(anchors_.begin(), anchors_.end(),
                     [](const Anchor& a, const Anchor& b) { return a.operations > b.operations; });
    for (Anchor& anchor : anchors_) {
      if (!taken_[anchor.node]) {
        if (auto grown = grow(anchor); !grown) return std::move(grown).error();
      }
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (taken_[n] || find_operator(node.op)->view) continue;
      auto workload = stated(graph_, node);
      if (!workload) {
        return Error{workload.error().code, "node '" + graph_.values[node.outputs.front()].name +
                                                "': " + workload.error().message};
      }
      pieces_.push_back({{n}, std::move(*workload)});
    }
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.nodes.back() < b.nodes.back(); });
    return std::move(pieces_);
  }

 private:
  // Takes steps behind the anchor for as long as the library has an operator with that tail.
  Result<void> grow(Anchor& anchor) {
    Piece piece{{anchor.node}, space::Workload::parse(anchor.call).value()};
    taken_[anchor.node] = true;
    ValueId value = graph_.nodes[anchor.node].outputs.front();
    while (const Node* next = only_reader(graph_, readers_, outputs_, value)) {
      const std::size_t n = static_cast<std::size_t>(next - graph_.nodes.data());
      const bool image = graph_.nodes[anchor.node].op == "Conv";
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
    return {};
  }

  const Graph& graph_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> outputs_, taken_;
  std::vector<Anchor> anchors_;
  std::vector<Piece> pieces_;
};

}  // namespace

Result<std::vector<Piece>> pieces_of(const Graph& graph) { return Cutter(graph).run(); }

TaskList tasks_of(const std::string& name, const std::vector<Piece>& pieces) {
  TaskList list{name, {}, {}};
  for (const Piece& piece : pieces) {
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
