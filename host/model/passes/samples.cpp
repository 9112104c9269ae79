// The reference as an evaluator (samples.h).
#include "host/model/passes/samples.h"

namespace fettle::model {

Evaluator by_reference(Graph graph, std::stop_token stop) {
  return [graph = std::move(graph), stop = std::move(stop)](const Sample& sample) {
    return evaluate_graph(graph, sample, stop);
  };
}

}  // namespace fettle::model
