// Post-training quantisation: a float32 network becomes one that files state with QuantizeLinear
// and DequantizeLinear around its convolutions, products, sums, means and poolings, in int8 without
// zero points. What computes it in integers is another pass (quantized.h).
#pragma once

#include <stop_token>

#include "host/model/graph/graph.h"
#include "host/model/passes/samples.h"
#include "schemas/wire/result.h"

namespace fettle::model {

// Of each value that is an input or computed the largest magnitude over the samples, infinite where
// one is not a number; 0 of other values. By the reference. Canceled: it was stopped.
Result<std::vector<double>> largest_magnitudes(const Graph& graph,
                                               const std::vector<Sample>& samples,
                                               const std::stop_token& stop = {});
// The same of the graph's inputs and outputs alone, which `evaluate` computes.
Result<std::vector<double>> largest_magnitudes(const Graph& graph,
                                               const std::vector<Sample>& samples,
                                               const Evaluator& evaluate);

// QuantizeLinear and its like: a network with one is quantised already.
bool is_quantized_operator(const std::string& op);

struct QuantizeOptions {
  // Scales are powers of two, of weights one for all channels: what accelerators do by shifts. A
  // sum behind a convolution is then its own, and has one scale with its other operand.
  bool power_of_two = false;
};

// The values that quantize() gives a scale, in the order that they are computed in: those whose
// magnitudes it asks for.
std::vector<ValueId> quantized_values(const Graph& graph, const QuantizeOptions& options = {});

// Scales of values from the magnitudes, of weights from the largest of each output channel, which
// 127 stands for; of a channel whose weights are next to nothing beside its bias, a larger one, so
// that the bias fits. Batch norms are folded before (fold_batch_norm.h). InvalidArgument: a value
// whose magnitude is not finite; Internal: the graph is none.
Result<Graph> quantize(Graph graph, const std::vector<double>& largest,
                       const QuantizeOptions& options = {});

// The outputs get the names that they have in the network which was quantised, for a file of it.
// (Its values are found again by their names until then: quantization_loss.h.)
void keep_output_names(Graph& quantized, const Graph& of);

}  // namespace fettle::model
