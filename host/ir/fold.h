// What integer arithmetic means in the IR: shared by the makers and the interpreter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "host/ir/expr.h"

namespace fettle::ir {

// `value` as the type holds it: two's complement, wrapped. Bool: 0 or 1.
std::int64_t wrap(std::int64_t value, Scalar scalar);

// One integer operation on values of `scalar`; comparisons give 0 or 1. Empty:
// a divisor that is not positive or a shift outside the type's bits.
std::optional<std::int64_t> fold_int(BinaryOp op, std::int64_t a, std::int64_t b, Scalar scalar);

// Value by value, out[i] = a[i] op b[i] of int64, 0 where fold_int has none: what many points of
// an expression cost. All of one length; `out` may be one of the others.
void fold_each(BinaryOp op, std::span<const std::int64_t> a, std::span<const std::int64_t> b,
               std::span<std::int64_t> out);

}  // namespace fettle::ir
