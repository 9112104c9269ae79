// Element types and vector types of the IR.
#pragma once

#include <cstdint>
#include <string>

namespace fettle::ir {

// Same names and order as wire::ScalarType (checked where the two meet, host/space/wire_types.h).
enum class Scalar : std::uint8_t {
  Bool,
  Int8,
  UInt8,
  Int16,
  Int32,
  Int64,
  Float16,
  Float32,
  Float64
};

struct DataType {
  Scalar scalar = Scalar::Float32;
  std::uint16_t lanes = 1;

  bool is_float() const { return scalar >= Scalar::Float16; }
  bool is_int() const { return scalar > Scalar::Bool && scalar < Scalar::Float16; }
  bool is_bool() const { return scalar == Scalar::Bool; }
  int bytes() const;  // of one element
  DataType with_lanes(int lanes) const { return {scalar, static_cast<std::uint16_t>(lanes)}; }
  DataType element() const { return with_lanes(1); }
  bool operator==(const DataType&) const = default;
};

inline constexpr DataType kInt32{Scalar::Int32, 1};
inline constexpr DataType kInt64{Scalar::Int64, 1};
inline constexpr DataType kFloat32{Scalar::Float32, 1};
inline constexpr DataType kBool{Scalar::Bool, 1};

std::string to_string(DataType type);                     // "float32x8"
bool parse_scalar(const std::string& name, Scalar& out);  // "float32"

}  // namespace fettle::ir
