// Reductions along the rows of a matrix, and what is computed with their results.
#pragma once

#include <functional>
#include <string>

#include "host/space/operators/stages.h"

namespace fettle::space {

// Appends the stage NAME [n] to the DAG: values of element(n, k) for k in [0, length)
// combined. Returns it.
Stage append_row_reduction(ComputeDag& dag, const std::string& name, std::int64_t rows,
                           std::int64_t length, Combiner combiner,
                           const std::function<ir::Expr(ir::Expr n, ir::Expr k)>& element);

// 1 / length as an expression: rounded to float32 by the program, not by the evaluator.
ir::Expr reciprocal(std::int64_t length);

// stage[n].
ir::Expr of_row(const Stage& stage, const ir::Expr& n);

}  // namespace fettle::space
