// Rounding and saturating (requantize.h).
#include "host/space/operators/requantize.h"

#include "host/space/operators/activations.h"

namespace fettle::space {
namespace {

constexpr std::int64_t kMostAdded = 255;

}  // namespace

ir::Expr rounded_to_int32(const ir::Expr& real) {
  constexpr double kMost = 65536;
  return ir::cast(ir::kInt32, clip(ir::unary(ir::UnaryOp::RoundEven, real), -kMost, kMost));
}

ir::Expr saturated(const ir::Expr& value, const QuantizedRange& range) {
  const auto low = double(range.low - range.zero_point),
             high = double(range.high - range.zero_point);
  return ir::cast({range.type, 1}, clip(value, low, high) + ir::int_imm(range.zero_point));
}

ir::Expr quantized_sum(const ir::Expr& real, const ir::Expr& added, const QuantizedRange& range) {
  // Held to what can still come into the range before it becomes an integer: a cast of more is
  // none.
  const std::int64_t room = added ? kMostAdded : 0;
  const ir::Expr whole =
      clip(ir::unary(ir::UnaryOp::RoundEven, real), double(range.low - range.zero_point - room),
           double(range.high - range.zero_point + room));
  const ir::Expr value = ir::cast(ir::kInt32, whole);
  if (added) return saturated(value + added, range);
  return ir::cast({range.type, 1}, value + ir::int_imm(range.zero_point));
}

ir::Expr quantized(const ir::Expr& real, const QuantizedRange& range) {
  return quantized_sum(real, nullptr, range);
}

ir::Expr shifted(const ir::Expr& sum, std::int64_t bits, const ir::Expr& added,
                 const QuantizedRange& range) {
  ir::Expr value = sum;
  if (bits > 0) {
    value = ir::binary(ir::BinaryOp::ShiftRight, sum + ir::int_imm(std::int64_t{1} << (bits - 1)),
                       ir::int_imm(bits));
  }
  return saturated(added ? value + added : value, range);
}

}  // namespace fettle::space
