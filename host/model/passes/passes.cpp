// The list of passes (passes.h).
#include "host/model/passes/passes.h"

#include "host/model/passes/find_activations.h"
#include "host/model/passes/fold_batch_norm.h"
#include "host/model/passes/quantized.h"

namespace fettle::model {

Result<void> run_passes(Graph& graph) {
  if (auto folded = fold_batch_norms(graph); !folded) return folded;
  find_activations(graph);
  return compute_in_integers(graph);
}

}  // namespace fettle::model
