// Quantised networks, as files state them, become networks that compute in integers: what lies
// between a DequantizeLinear and a QuantizeLinear with constant scales is one node.
#pragma once

#include "host/model/graph/graph.h"
#include "schemas/wire/result.h"

namespace fettle::model {

// Convolutions, Gemm and MatMul by constant bytes with Relu and Clip behind them, sums of two,
// means of images: QLinearConv and so on. A convolution with a sum behind it takes the other
// operand as its residual where that one has the output's scale. Max pooling, views, transposes and
// Concat work on the bytes where the scales around them are one.
//
// Against the float32 arithmetic that the file states, single bytes differ by 1 where the exact
// value is within its roundings of a half; of sums also where it is within 1e-4 of one; with a
// residual also where it is a half. A bias that is not int32 of the sum's scale is rounded to that.
// Internal: the graph is none.
Result<void> compute_in_integers(Graph& graph);

// Products whose factor is 2^-N, N 1 to 30, are shifted by N instead, as accelerators do: halves
// are rounded up, not to the even one. Nothing else changes.
void round_halves_up(Graph& graph);

}  // namespace fettle::model
