// One layer of the benchmark of kernels: the best record of it and its peers, checked, timed in
// turns, and checked again.
#pragma once

#include "host/records/database.h"
#include "tests/bench/kernels/kernel_bench.h"
#include "tests/bench/kernels/kernel_side.h"
#include "tests/bench/kernels/layer_figures.h"

namespace fettle::bench {

struct KernelBench {
  const KernelBenchOptions& options;
  const records::Database& database;
  KernelSide& side;
};

// Fills everything of `figures` that is measured. NotFound: there is no record of the layer.
// WrongAnswer, StrayWrite: ours is wrong, before it was timed or behind that. A peer that is wrong
// is `absent`.
Result<void> compare_layer(const KernelBench& bench, const Layer& layer, LayerFigures& figures);

}  // namespace fettle::bench
