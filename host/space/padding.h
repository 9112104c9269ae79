// Padding that adds nothing to a sum of products: where a copy is known to be zero.
#pragma once

#include <vector>

#include "host/space/compute_dag.h"

namespace fettle::space {

// Comparisons of the copy's axes: where one does not hold, its value is 0. None: nothing is known.
std::vector<ir::Expr> zero_unless(const Stage& copy);

// Where the sum reads such a factor of its products, one at a time or four: the same comparisons,
// of the sum's own axes. None: it reads no such factor from there.
std::vector<ir::Expr> adds_nothing_unless(const Stage& sum, const Stage& copy);

}  // namespace fettle::space
