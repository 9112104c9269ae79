// What integer arithmetic means (fold.h).
#include "host/ir/fold.h"

#include <array>
#include <cassert>
#include <utility>

namespace fettle::ir {

namespace {

constexpr std::int64_t wrapped(std::int64_t value, Scalar scalar) {
  switch (scalar) {
    case Scalar::Bool:
      return value != 0;
    case Scalar::Int8:
      return static_cast<std::int8_t>(value);
    case Scalar::UInt8:
      return static_cast<std::uint8_t>(value);
    case Scalar::Int16:
      return static_cast<std::int16_t>(value);
    case Scalar::Int32:
      return static_cast<std::int32_t>(value);
    default:
      return value;
  }
}

constexpr std::optional<std::int64_t> folded(BinaryOp op, std::int64_t a, std::int64_t b,
                                             Scalar scalar, int bits) {
  // Unsigned arithmetic: overflow wraps instead of being undefined.
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  switch (op) {
    case BinaryOp::Add:
      return wrapped(static_cast<std::int64_t>(ua + ub), scalar);
    case BinaryOp::Sub:
      return wrapped(static_cast<std::int64_t>(ua - ub), scalar);
    case BinaryOp::Mul:
      return wrapped(static_cast<std::int64_t>(ua * ub), scalar);
    case BinaryOp::Div:
    case BinaryOp::Mod: {
      if (b <= 0) return std::nullopt;
      std::int64_t quotient = a / b, rest = a % b;
      if (rest < 0) --quotient, rest += b;
      return op == BinaryOp::Div ? quotient : rest;
    }
    case BinaryOp::Min:
      return a < b ? a : b;
    case BinaryOp::Max:
      return a < b ? b : a;
    case BinaryOp::And:
      return a && b;
    case BinaryOp::Or:
      return a || b;
    case BinaryOp::ShiftLeft:
      if (b < 0 || b >= bits) return std::nullopt;
      return wrapped(static_cast<std::int64_t>(ua << b), scalar);
    case BinaryOp::ShiftRight:
      if (b < 0 || b >= bits) return std::nullopt;
      return a >> b;
    case BinaryOp::Eq:
      return a == b;
    case BinaryOp::Ne:
      return a != b;
    case BinaryOp::Lt:
      return a < b;
    case BinaryOp::Le:
      return a <= b;
  }
  return std::nullopt;
}

// A loop of its own for each operation, which compilers make vectors of.
template <std::size_t op>
void fold_all(std::span<const std::int64_t> a, std::span<const std::int64_t> b,
              std::span<std::int64_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = folded(static_cast<BinaryOp>(op), a[i], b[i], Scalar::Int64, 64).value_or(0);
  }
}

constexpr std::size_t kOperations = static_cast<std::size_t>(BinaryOp::Le) + 1;

constexpr auto kFoldAll = []<std::size_t... op>(std::index_sequence<op...>) {
  return std::array{&fold_all<op>...};
}(std::make_index_sequence<kOperations>());

}  // namespace

std::int64_t wrap(std::int64_t value, Scalar scalar) { return wrapped(value, scalar); }

std::optional<std::int64_t> fold_int(BinaryOp op, std::int64_t a, std::int64_t b, Scalar scalar) {
  return folded(op, a, b, scalar, 8 * DataType{scalar, 1}.bytes());
}

void fold_each(BinaryOp op, std::span<const std::int64_t> a, std::span<const std::int64_t> b,
               std::span<std::int64_t> out) {
  assert(a.size() == out.size() && b.size() == out.size());
  kFoldAll[static_cast<std::size_t>(op)](a, b, out);
}

}  // namespace fettle::ir
