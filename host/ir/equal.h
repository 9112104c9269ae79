// Whether two expressions are the same one, written twice.
#pragma once

#include "host/ir/expr.h"

namespace fettle::ir {

// Understands what indices and conditions are made of: variables, integers and binary
// operations; false where there is anything else, unless it is the same node.
bool equal(const Expr& a, const Expr& b);

}  // namespace fettle::ir
