// What a network loses by its quantisation, value by value.
//
// The measure is SQNR, the signal to quantisation noise ratio: 10 log10(sum x^2 / sum (x - q)^2) in
// dB, with x a number of the float32 network and q the same of the quantised one, over all elements
// and samples. It is what D. Lin, S. Talathi and V. Annapureddy choose bit widths of layers by
// ("Fixed Point Quantization of Deep Convolutional Networks", ICML 2016): a bit is worth 6.02 dB.
#pragma once

#include <string>
#include <vector>

#include "host/model/graph/graph.h"
#include "host/model/passes/quantize.h"
#include "host/model/passes/samples.h"
#include "schemas/wire/result.h"

namespace fettle::model {

// A network as it is looked at. Its graph's outputs are what is to be evaluated, each once.
struct Observed {
  Graph graph;
  std::vector<ValueId> values;   // that are quantised, before they are; inputs may be among them
  std::vector<double> scales;    // of each, where the network has some
  std::vector<ValueId> outputs;  // the network's own, of floats
};
// The float32 network that quantize() is given.
Observed observe(const Graph& whole, const QuantizeOptions& options);
// What quantize() makes of it. Weights are dequantised beforehand. Internal: it is not
// quantize()'s.
Result<Observed> observe_quantized(const Graph& quantized);

struct Noise {
  double signal = 0, noise = 0;  // sums of squares

  void add(double x, double q);
  void add(const Noise& other);
  double sqnr_db() const;  // infinite: nothing is lost; not a number: there is nothing
};

// A value that the network has as int8.
struct QuantizedValue {
  std::string name;       // as the model names it
  std::string operators;  // that make it of other such values: "Conv Relu"; "": an input
  double scale = 0;
  Noise all;       // against the float32 network: its own noise, and that of all before it
  Noise rounding;  // of the float32 network's value by this scale alone
  Noise weights;   // of the operators' weights; without any there is no signal
  std::int64_t elements = 0;   // over all samples
  std::int64_t saturated = 0;  // of them: beyond what int8 reaches by the scale

  double saturated_share() const;
};

struct OutputNoise {
  std::string name;
  Noise all;
};

struct QuantizationLoss {
  std::vector<QuantizedValue> values;  // in the order that they are computed in
  std::vector<OutputNoise> outputs;
};

// The evaluators are of the two graphs. Quantised values are rounded as the file states it, in
// float32. Errors: the evaluators'; Internal: two networks that are not the same.
Result<QuantizationLoss> quantization_loss(const Observed& whole, const Observed& quantized,
                                           const std::vector<Sample>& samples,
                                           const Evaluator& evaluate_whole,
                                           const Evaluator& evaluate_quantized);

}  // namespace fettle::model
