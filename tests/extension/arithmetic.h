// What the stack machine computes with: one value, and the operations of each type.
#pragma once

#include <cstdint>

#include "host/ir/expr.h"
#include "schemas/common_generated.h"

namespace fettle::extension {

// An integer or, of a float's type, a double.
union Value {
  std::int64_t i;
  double d;
};

std::size_t bytes_of(wire::ScalarType type);
// As they lie in memory.
std::uint64_t bits_of(Value v, wire::ScalarType type);
Value of_bits(std::uint64_t bits, wire::ScalarType type);

Value unary(ir::UnaryOp op, wire::ScalarType type, Value a);
Value binary(ir::BinaryOp op, wire::ScalarType type, Value a, Value b);  // type: the operands'
Value cast(Value v, wire::ScalarType from, wire::ScalarType to);

}  // namespace fettle::extension
