// The IR's operators on doubles, as the reference evaluator computes them. Inline: called
// for every element.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "host/ir/expr.h"
#include "host/ir/fold.h"
#include "host/ir/tf32.h"

namespace fettle::space::reference {

inline double apply(ir::BinaryOp op, double x, double y) {
  switch (op) {
    case ir::BinaryOp::Add:
      return x + y;
    case ir::BinaryOp::Sub:
      return x - y;
    case ir::BinaryOp::Mul:
      return x * y;
    case ir::BinaryOp::Div:
      return x / y;
    case ir::BinaryOp::Min:
      return x < y || std::isnan(x) ? x : y;
    case ir::BinaryOp::Max:
      return x > y || std::isnan(x) ? x : y;
    case ir::BinaryOp::And:
      return x != 0 && y != 0;
    case ir::BinaryOp::Or:
      return x != 0 || y != 0;
    case ir::BinaryOp::Eq:
      return x == y;
    case ir::BinaryOp::Ne:
      return x != y;
    case ir::BinaryOp::Lt:
      return x < y;
    case ir::BinaryOp::Le:
      return x <= y;
    default:
      return 0;  // integers only: apply_int()
  }
}

// Integers up to 2^53 are exact in a double.
inline double apply_int(ir::BinaryOp op, double x, double y, ir::Scalar scalar) {
  // Neither is rounded, nor out of an int64's range, as the least and the most of it may be here.
  if (op == ir::BinaryOp::Min || op == ir::BinaryOp::Max) return apply(op, x, y);
  if (std::isnan(x) || std::isnan(y)) {
    const bool compares = op == ir::BinaryOp::Eq || op == ir::BinaryOp::Ne ||
                          op == ir::BinaryOp::Lt || op == ir::BinaryOp::Le;
    return compares ? double(op == ir::BinaryOp::Ne) : std::nan("");
  }
  const auto value =
      ir::fold_int(op, static_cast<std::int64_t>(x), static_cast<std::int64_t>(y), scalar);
  return value ? double(*value) : std::nan("");
}

// As an integer type holds it, wrapped; reals and what is no number stay.
inline double held(double x, ir::DataType type) {
  if (!type.is_int() || !(std::fabs(x) < 9.2e18)) return x;
  return double(ir::wrap(static_cast<std::int64_t>(x), type.scalar));
}

inline double converted(double x, ir::DataType from, ir::DataType to) {
  if (to.is_bool()) return x != 0;
  // Values of float types stay unrounded; integers that float32 cannot hold are not such values.
  if (to.is_float()) return from.is_int() && to.scalar == ir::Scalar::Float32 ? float(x) : x;
  if (from.is_float()) x = std::trunc(x);
  if (!(std::fabs(x) < 9.2e18)) return std::nan("");
  return double(ir::wrap(static_cast<std::int64_t>(x), to.scalar));
}

// Between int32 and float32, or integers of one size.
inline double same_bits(double x, ir::DataType from, ir::DataType to) {
  if (from.is_int() && to.is_int()) return held(x, to);
  if (to.is_float() && std::isnan(x)) return x;
  if (to.is_float()) return std::bit_cast<float>(static_cast<std::int32_t>(x));
  return std::bit_cast<std::int32_t>(static_cast<float>(x));
}

inline double apply(ir::UnaryOp op, double x) {
  switch (op) {
    case ir::UnaryOp::Neg:
      return -x;
    case ir::UnaryOp::Not:
      return x == 0;
    case ir::UnaryOp::Sqrt:
      return std::sqrt(x);
    case ir::UnaryOp::Floor:
      return std::floor(x);
    case ir::UnaryOp::Abs:
      return std::fabs(x);
    case ir::UnaryOp::Tf32:
      return ir::rounded_to_tf32(static_cast<float>(x));
    case ir::UnaryOp::RoundEven:
      // Of what one operation makes of float32 that is as exact as on any board: a double holds it
      // with so many more bits that rounding twice changes nothing.
      return std::nearbyint(static_cast<float>(x));
  }
  return 0;
}

}  // namespace fettle::space::reference
