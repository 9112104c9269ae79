// Lanes (lanes.h).
#include "host/ir/lanes.h"

#include <cmath>
#include <cstring>

#include "host/ir/fold.h"
#include "host/ir/tf32.h"
#include "schemas/half/half.h"

namespace fettle::ir {

namespace {

template <typename T>
T read(const std::uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <typename T>
void write(std::uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

double round_to(double value, Scalar scalar) {
  return scalar == Scalar::Float32 ? static_cast<float>(value) : value;
}

void apply(BinaryOp op, DataType operands, Value& out, const Value& b, int l) {
  if (!operands.is_float()) {
    const auto value = fold_int(op, out.i[l], b.i[l], operands.scalar);
    if (!value) throw Stop{"division by " + std::to_string(b.i[l]) + " or such a shift"};
    out.i[l] = *value;
    return;
  }
  const double x = out.f[l], y = b.f[l];
  switch (op) {
    case BinaryOp::Add:
      out.f[l] = round_to(x + y, operands.scalar);
      break;
    case BinaryOp::Sub:
      out.f[l] = round_to(x - y, operands.scalar);
      break;
    case BinaryOp::Mul:
      out.f[l] = round_to(x * y, operands.scalar);
      break;
    case BinaryOp::Div:
      out.f[l] = round_to(x / y, operands.scalar);
      break;
    case BinaryOp::Min:
      out.f[l] = x < y || std::isnan(x) ? x : y;
      break;
    case BinaryOp::Max:
      out.f[l] = x > y || std::isnan(x) ? x : y;
      break;
    case BinaryOp::Eq:
      out.i[l] = x == y;
      break;
    case BinaryOp::Ne:
      out.i[l] = x != y;
      break;
    case BinaryOp::Lt:
      out.i[l] = x < y;
      break;
    case BinaryOp::Le:
      out.i[l] = x <= y;
      break;
    default:
      throw Stop{"an integer operation on floats"};
  }
}

void apply(UnaryOp op, DataType type, Value& out, int l) {
  if (!type.is_float()) {
    const std::int64_t x = out.i[l];
    out.i[l] = wrap(op == UnaryOp::Neg   ? -x
                    : op == UnaryOp::Not ? !x
                    : x < 0              ? -x
                                         : x,
                    type.scalar);
    return;
  }
  const double x = out.f[l];
  switch (op) {
    case UnaryOp::Neg:
      out.f[l] = -x;
      break;
    case UnaryOp::Sqrt:
      out.f[l] = round_to(std::sqrt(x), type.scalar);
      break;
    case UnaryOp::Floor:
      out.f[l] = std::floor(x);
      break;
    case UnaryOp::Abs:
      out.f[l] = std::fabs(x);
      break;
    case UnaryOp::Tf32:
      out.f[l] = rounded_to_tf32(static_cast<float>(x));
      break;
    case UnaryOp::RoundEven:
      out.f[l] = std::nearbyint(x);
      break;
    case UnaryOp::Not:
      throw Stop{"not of a float"};
  }
}

void cast_lane(DataType from, DataType to, Value& v, int l) {
  if (from.is_float() && to.is_float()) {
    v.f[l] = round_to(v.f[l], to.scalar);
  } else if (from.is_float() && to.is_bool()) {
    v.i[l] = v.f[l] != 0;
  } else if (from.is_float()) {
    if (std::isnan(v.f[l])) {
      v.i[l] = 0;  // any would do
      return;
    }
    if (!(std::fabs(v.f[l]) < 9.2e18)) throw Stop{"a float too large for its cast"};
    v.i[l] = wrap(static_cast<std::int64_t>(v.f[l]), to.scalar);
  } else if (to.is_float()) {
    v.f[l] = round_to(static_cast<double>(v.i[l]), to.scalar);
  } else {
    v.i[l] = wrap(v.i[l], to.scalar);
  }
}

void get(DataType type, const std::uint8_t* at, Value& v, int l) {
  switch (type.scalar) {
    case Scalar::Bool:
    case Scalar::UInt8:
      v.i[l] = read<std::uint8_t>(at);
      break;
    case Scalar::Int8:
      v.i[l] = read<std::int8_t>(at);
      break;
    case Scalar::Int16:
      v.i[l] = read<std::int16_t>(at);
      break;
    case Scalar::Int32:
      v.i[l] = read<std::int32_t>(at);
      break;
    case Scalar::Int64:
      v.i[l] = read<std::int64_t>(at);
      break;
    case Scalar::Float32:
      v.f[l] = read<float>(at);
      break;
    case Scalar::Float64:
      v.f[l] = read<double>(at);
      break;
    case Scalar::Float16:
      v.f[l] = float_of_half(read<std::uint16_t>(at));
      break;
  }
}

void put(DataType type, std::uint8_t* at, const Value& v, int l) {
  switch (type.scalar) {
    case Scalar::Bool:
    case Scalar::UInt8:
    case Scalar::Int8:
      write(at, static_cast<std::uint8_t>(v.i[l]));
      break;
    case Scalar::Int16:
      write(at, static_cast<std::int16_t>(v.i[l]));
      break;
    case Scalar::Int32:
      write(at, static_cast<std::int32_t>(v.i[l]));
      break;
    case Scalar::Int64:
      write(at, v.i[l]);
      break;
    case Scalar::Float32:
      write(at, static_cast<float>(v.f[l]));
      break;
    case Scalar::Float64:
      write(at, v.f[l]);
      break;
    case Scalar::Float16:
      write(at, half_of(v.f[l]));
      break;
  }
}

}  // namespace fettle::ir
