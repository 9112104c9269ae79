// Arithmetic of the stack machine (arithmetic.h).
#include "tests/extension/arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "host/ir/tf32.h"
#include "schemas/half/half.h"

namespace fettle::extension {
namespace {

using wire::ScalarType;

bool is_real(ScalarType type) { return type >= ScalarType::Float16; }

Value rounded(Value v, ScalarType type) {
  switch (type) {
    case ScalarType::Bool:
      v.i = v.i != 0;
      break;
    case ScalarType::Int8:
      v.i = static_cast<std::int8_t>(v.i);
      break;
    case ScalarType::UInt8:
      v.i = static_cast<std::uint8_t>(v.i);
      break;
    case ScalarType::Int16:
      v.i = static_cast<std::int16_t>(v.i);
      break;
    case ScalarType::Int32:
      v.i = static_cast<std::int32_t>(v.i);
      break;
    case ScalarType::Int64:
      break;
    case ScalarType::Float16:
      v.d = float_of_half(half_of(v.d));
      break;
    case ScalarType::Float32:
      v.d = static_cast<float>(v.d);
      break;
    case ScalarType::Float64:
      break;
  }
  return v;
}

template <typename T>
Value compared(ir::BinaryOp op, T a, T b) {
  switch (op) {
    case ir::BinaryOp::Eq:
      return {a == b};
    case ir::BinaryOp::Ne:
      return {a != b};
    case ir::BinaryOp::Lt:
      return {a < b};
    default:
      return {a <= b};
  }
}

Value binary_real(ir::BinaryOp op, double a, double b) {
  Value out{};
  switch (op) {
    case ir::BinaryOp::Add:
      out.d = a + b;
      return out;
    case ir::BinaryOp::Sub:
      out.d = a - b;
      return out;
    case ir::BinaryOp::Mul:
      out.d = a * b;
      return out;
    case ir::BinaryOp::Div:
      out.d = a / b;
      return out;
    case ir::BinaryOp::Min:
      out.d = std::fmin(a, b);
      return out;
    case ir::BinaryOp::Max:
      out.d = std::fmax(a, b);
      return out;
    default:
      return compared(op, a, b);
  }
}

Value binary_int(ir::BinaryOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case ir::BinaryOp::Add:
      return {a + b};
    case ir::BinaryOp::Sub:
      return {a - b};
    case ir::BinaryOp::Mul:
      return {a * b};
    case ir::BinaryOp::Div:
      return {b > 0 ? (a - (a % b + b) % b) / b : 0};
    case ir::BinaryOp::Mod:
      return {b > 0 ? (a % b + b) % b : 0};
    case ir::BinaryOp::Min:
      return {std::min(a, b)};
    case ir::BinaryOp::Max:
      return {std::max(a, b)};
    case ir::BinaryOp::And:
      return {a && b};
    case ir::BinaryOp::Or:
      return {a || b};
    case ir::BinaryOp::ShiftLeft:
      return {a << (b & 63)};
    case ir::BinaryOp::ShiftRight:
      return {a >> (b & 63)};
    default:
      return compared(op, a, b);
  }
}

}  // namespace

std::size_t bytes_of(ScalarType type) {
  return static_cast<std::size_t>(ir::DataType{static_cast<ir::Scalar>(type), 1}.bytes());
}

std::uint64_t bits_of(Value v, ScalarType type) {
  if (type == ScalarType::Float16) return half_of(v.d);
  if (type == ScalarType::Float32) return std::bit_cast<std::uint32_t>(static_cast<float>(v.d));
  return static_cast<std::uint64_t>(v.i);  // of a double, too
}

Value of_bits(std::uint64_t bits, ScalarType type) {
  Value v{static_cast<std::int64_t>(bits)};
  if (type == ScalarType::Float16) v.d = float_of_half(static_cast<std::uint16_t>(bits));
  if (type == ScalarType::Float32) v.d = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return is_real(type) ? v : rounded(v, type);
}

Value unary(ir::UnaryOp op, ScalarType type, Value a) {
  const bool real = is_real(type);
  switch (op) {
    case ir::UnaryOp::Neg:
      real ? void(a.d = -a.d) : void(a.i = -a.i);
      break;
    case ir::UnaryOp::Not:
      a.i = !a.i;
      break;
    case ir::UnaryOp::Sqrt:
      a.d = std::sqrt(a.d);
      break;
    case ir::UnaryOp::Floor:
      a.d = std::floor(a.d);
      break;
    case ir::UnaryOp::Abs:
      real ? void(a.d = std::fabs(a.d)) : void(a.i = std::abs(a.i));
      break;
    case ir::UnaryOp::RoundEven:
      a.d = std::nearbyint(a.d);
      break;
    case ir::UnaryOp::Tf32:
      a.d = ir::rounded_to_tf32(static_cast<float>(a.d));
      break;
  }
  return rounded(a, type);
}

Value binary(ir::BinaryOp op, ScalarType type, Value a, Value b) {
  const Value out = is_real(type) ? binary_real(op, a.d, b.d) : binary_int(op, a.i, b.i);
  return op >= ir::BinaryOp::Eq ? out : rounded(out, type);
}

Value cast(Value v, ScalarType from, ScalarType to) {
  Value out = v;
  if (is_real(from) && !is_real(to)) out.i = static_cast<std::int64_t>(v.d);
  if (!is_real(from) && is_real(to)) out.d = static_cast<double>(v.i);
  return rounded(out, to);
}

}  // namespace fettle::extension
