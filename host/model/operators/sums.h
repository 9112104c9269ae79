// Sums of products, before anything is done to them: of float32, or of int32 where both factors are
// whole.
#pragma once

#include <functional>

#include "host/model/operators/call.h"

namespace fettle::model {

// What is multiplied of an element: as it is in memory, with its indices.
using Taken = std::function<ir::Expr(const ir::Expr& element, const std::vector<ir::Expr>& at)>;

// Of input 0, images [n][c][spatial…], with input 1, weights [oc][ic / groups][kernel…]. x_zero,
// where it is not null, is taken from each element of x; outside there is nothing.
Result<Written> convolution_sums(const NodeCall& call, const ir::Expr& x_zero, const Taken& weight);

// Numpy's matmul of the inputs 0 and 1: the last two axes are the matrices', those before
// broadcast; a vector is a row on the left and a column on the right. The right matrices' axes may
// be swapped.
Result<Written> matrix_sums(const NodeCall& call, bool transposed, const Taken& left,
                            const Taken& right);

}  // namespace fettle::model
