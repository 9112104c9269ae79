// Cutting a network into pieces (pieces.h).
#include "host/model/pieces/pieces.h"

#include <algorithm>

#include "host/model/graph/users.h"
#include "host/model/pieces/library_call.h"
#include "host/model/pieces/stated.h"

namespace fettle::model {
namespace {

// An operator of the library while its tail grows.
struct Anchor {
  std::size_t node;
  LibraryCall call;
  space::Workload workload;
};

class Cutter {
 public:
  Cutter(const Graph& graph, const Accelerates& accelerates)
      : graph_(graph),
        readers_(readers_of(graph)),
        outputs_(outputs_of(graph)),
        layouts_(layouts_of(graph, accelerates)),
        taken_(graph.nodes.size()) {}

  Pieces run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (layouts_.accelerated[n]) {
        accelerate(n);
        continue;
      }
      auto call = library_call(graph_, node, layouts_.orders[node.outputs.front()]);
      if (!call) continue;
      auto workload = space::Workload::parse(call->fields);
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
      if (!taken_[n] && !moves_nothing(graph_.nodes[n])) state(n);
    }
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.nodes.back() < b.nodes.back(); });
    return {std::move(pieces_), std::move(untuned_)};
  }

 private:
  void accelerate(std::size_t n) {
    AcceleratedNode& node = *layouts_.accelerated[n];
    taken_[n] = true;
    pieces_.push_back({{n},
                       std::move(node.workload),
                       std::move(node.call.inputs),
                       {graph_.nodes[n].outputs.front(), std::move(node.call.written)},
                       true});
  }

  // Takes steps behind the anchor for as long as the library has an operator with that tail.
  void grow(Anchor& anchor) {
    Piece piece{
        {anchor.node}, std::move(anchor.workload), std::move(anchor.call.inputs), {}, false};
    taken_[anchor.node] = true;
    const Order& written = anchor.call.written;
    ValueId value = graph_.nodes[anchor.node].outputs.front();
    while (const Node* next = only_reader(graph_, readers_, outputs_, value)) {
      const std::size_t n = static_cast<std::size_t>(next - graph_.nodes.data());
      // Channels are what lies innermost.
      const std::size_t channel =
          written.empty() ? graph_.type(value).shape.size() - 1 : written.back();
      const auto step = taken_[n] ? std::nullopt : tail_step(graph_, *next, value, channel);
      if (!step) break;
      nlohmann::json longer = anchor.call.fields;
      longer["tail"].push_back(step->step);
      auto workload = space::Workload::parse(longer);
      if (!workload) break;
      anchor.call.fields = std::move(longer);
      piece.workload = std::move(*workload);
      piece.nodes.push_back(n);
      if (step->other != kNoValue) {
        piece.inputs.push_back({step->other, step->step == "add" ? written : Order{}});
      }
      taken_[n] = true;
      value = next->outputs.front();
    }
    piece.output = {value, written};
    pieces_.push_back(std::move(piece));
  }

  void state(std::size_t n) {
    const Node& node = graph_.nodes[n];
    const ValueId output = node.outputs.front();
    auto stated = state_node(graph_, node, layouts_.orders);
    if (stated) {
      pieces_.push_back({{n},
                         std::move(stated->workload),
                         std::move(stated->inputs),
                         {output, std::move(stated->written)},
                         false});
    } else {
      untuned_.push_back(
          {node.op + " (" + graph_.values[output].name + ")", stated.error().message});
    }
  }

  const Graph& graph_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> outputs_;
  Layouts layouts_;
  std::vector<bool> taken_;
  std::vector<Anchor> anchors_;
  std::vector<Piece> pieces_;
  std::vector<SkippedTask> untuned_;
};

}  // namespace

Pieces pieces_of(const Graph& graph, const Accelerates& accelerates) {
  return Cutter(graph, accelerates).run();
}

}  // namespace fettle::model
