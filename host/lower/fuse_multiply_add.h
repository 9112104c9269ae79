// Sums of a product become mul_add: accumulations in one operation where the CPU has it.
#pragma once

#include "host/ir/stmt.h"

namespace fettle::lower {

// x + a * b and a * b + x, floats; x + an instruction that adds to 0, which adds to x then. On CPUs
// without a fused operation the back end rounds twice, so the meaning stays within the
// tolerance of float sums.
ir::Stmt fuse_multiply_add(const ir::Stmt& stmt);

}  // namespace fettle::lower
