// Window: what a stage must be for Winograd's algorithm, read off its expressions.
#pragma once

#include <optional>

#include "host/space/compute_dag.h"

namespace fettle::space {

// A sum of products of a data pixel and a constant, each widened after reading where it
// is float16, in which two data axes and two
// reduction axes of extent 3 enter the pixel's place as y + kh and x + kw, and the
// remaining reduction axis runs over channels that both share.
struct Window {
  Axis n, y, x, out;      // data axes; the stage has no others, in this order
  Axis kh, kw, in;        // reduction axes
  ir::Expr data, weight;  // the loads
};

std::optional<Window> winograd_window(const ComputeDag& dag, const Stage& stage);

}  // namespace fettle::space
