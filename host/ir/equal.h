// Whether two expressions are the same one, written twice.
#pragma once

#include "host/ir/expr.h"

namespace fettle::ir {

// The same operations on the same variables and constants. Two loads are not taken to be
// equal, as what they read may have changed in between; the same node is equal to itself.
bool equal(const Expr& a, const Expr& b);

}  // namespace fettle::ir
