// Fused tails: what is done to each output of an operator before it is stored.
//
//   bias         plus a constant per channel
//   multiply     times a constant per channel
//   add          plus another tensor of the output's shape
//   relu, relu6, "clip LOW HIGH" with integers
//   "leaky_relu SLOPE"   x below 0 times SLOPE: 0 to 1, as short as a float32 is written
//   sigmoid, swish, hard_swish, gelu, tanh   at most one of them (activations.h)
//
// In any order, each at most once. Of int8 operators, whose sums are int32: bias, add (of int8),
// relu, clip, and what requantises them (a float16 operator's tail is computed in float32, with
// constants of float32; only its residual and its output are float16):
//
//   "shift_right BITS"  divided by 2^BITS, halves rounded up
//   requantize          times a float32 constant per channel, rounded, halves to the even one
//   "cast int8"         the last step, after a clip to the range of int8 and neither bias nor add
//   since
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "host/space/compute_dag.h"
#include "host/space/operators/operator_call.h"
#include "schemas/wire/result.h"

namespace fettle::space {

struct TailStep {
  std::string name;                // the first word
  std::int64_t low = 0, high = 0;  // of clip; low: bits of shift_right
  float slope = 0;                 // of leaky_relu
};

// Of a list of strings. quantized: of an int8 operator. Unsupported: an unknown step,
// one that is there twice, a second one of sigmoid, swish, hard_swish, gelu and tanh, or a cast
// that is not last or whose values no clip brings into its range. InvalidArgument: an entry
// that is no string, or a clip without values between its bounds or, of an int8 operator,
// with a bound that its int32 sums cannot have.
Result<std::vector<TailStep>> parse_tail(const nlohmann::json& list, bool quantized);

// "leaky_relu 0.1", as a tail has it; empty: no slope that one can have.
std::string leaky_relu_step(double slope);

// Whether the tail has a constant per channel: then the channels are an axis of the DAG.
bool has_channel_constants(const OperatorCall& call);

// Appends the workload's tail to the last stage and marks the last one as output.
// Constants per channel run over the axes named in `channels`; none: the innermost. With
// dtype float16 the tail's residual and the output are float16 in memory too; what is
// computed, and constants per channel, stay float32.
void append_tail(ComputeDag& dag, const OperatorCall& call,
                 const std::vector<std::string>& channels = {});

}  // namespace fettle::space
