// Products of padding are left out of sums.
#pragma once

#include "host/ir/stmt.h"

namespace fettle::lower {

// a * b + c becomes c where a or b is the constant 0: what is left of a load in the
// padding once its condition is decided. As where zeros are skipped
// (space::SkipZerosStep), the other factor is taken to be finite. Runs after unroll and simplify.
ir::Stmt drop_zero_products(const ir::Stmt& stmt);

}  // namespace fettle::lower
