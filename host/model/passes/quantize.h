// Post-training quantisation: a float32 network becomes one that files state with QuantizeLinear
// and DequantizeLinear around its convolutions, products, sums, means and poolings, in int8 without
// zero points. What computes it in integers is another pass (quantized.h).
#pragma once

#include "host/model/graph/graph.h"
#include "host/model/graph/node_stages.h"
#include "schemas/wire/result.h"

namespace fettle::model {

// Of each value that is an input or computed the largest magnitude over the samples, each of which
// are the bytes of all inputs; 0 of other values. By the reference.
Result<std::vector<double>> largest_magnitudes(
    const Graph& graph, const std::vector<std::vector<TensorBytes>>& samples);

struct QuantizeOptions {
  // Scales are powers of two, of weights one for all channels: what accelerators do by shifts. A
  // sum behind a convolution is then its own, and has one scale with its other operand.
  bool power_of_two = false;
};

// Scales of values from the magnitudes, of weights from the largest of each output channel, which
// 127 stands for. Batch norms are folded before (fold_batch_norm.h). Internal: the graph is none.
Result<Graph> quantize(Graph graph, const std::vector<double>& largest,
                       const QuantizeOptions& options = {});

}  // namespace fettle::model
