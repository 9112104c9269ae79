// Reductions along the rows of a matrix, in two stages: sums over every 16th element
// of a row, side by side in memory, then over those.
#pragma once

#include <functional>
#include <string>

#include "host/space/operators/stages.h"

namespace fettle::space {

// Appends the stages NAME.lanes [n][lane] and NAME [n] to the DAG: values of
// element(n, k) for k in [0, length) combined. Where 16 and 8 do not divide the
// length, elements past a row's end count as the combiner's neutral element, and
// element() must then be made of loads at column k. Returns NAME.
Stage append_row_reduction(ComputeDag& dag, const std::string& name, std::int64_t rows,
                           std::int64_t length, Combiner combiner,
                           const std::function<ir::Expr(ir::Expr n, ir::Expr k)>& element);

// 1 / length as an expression: rounded to float32 by the program, not by the evaluator.
ir::Expr reciprocal(std::int64_t length);

// stage[n].
ir::Expr of_row(const Stage& stage, const ir::Expr& n);

}  // namespace fettle::space
