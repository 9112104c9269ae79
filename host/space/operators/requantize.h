// From a type of many bits to one of few, as quantised networks mean it.
#pragma once

#include "host/ir/expr.h"

namespace fettle::space {

// What a quantised value is stored as. Bounds are of what is stored, the zero point included.
struct QuantizedRange {
  ir::Scalar type = ir::Scalar::Int8;  // or UInt8
  std::int64_t low = -128, high = 127;
  std::int64_t zero_point = 0;
};

// round(real), halves to the even one, held to 2^16 of 0: far outside of any byte.
ir::Expr rounded_to_int32(const ir::Expr& real);
// round(real), halves to the even one, plus the zero point, held to the range. `real` is of float32
// and one operation of what float32 holds (UnaryOp::RoundEven): then all devices agree.
ir::Expr quantized(const ir::Expr& real, const QuantizedRange& range);
// The same with `added`, an int32 of -255 to 255, before the value is held to the range; null:
// none.
ir::Expr quantized_sum(const ir::Expr& real, const ir::Expr& added, const QuantizedRange& range);
// sum / 2^bits, halves rounded up, plus `added` and the zero point, held to the range: of int32.
ir::Expr shifted(const ir::Expr& sum, std::int64_t bits, const ir::Expr& added,
                 const QuantizedRange& range);
// Held to the range of its type, plus the zero point; `value` is of int32.
ir::Expr saturated(const ir::Expr& value, const QuantizedRange& range);

}  // namespace fettle::space
