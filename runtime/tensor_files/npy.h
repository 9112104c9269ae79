// NumPy's array files (.npy, format versions 1 to 3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/wire/codec.h"
#include "schemas/wire/result.h"

namespace fettle {

struct NpyArray {
  wire::ScalarType type = wire::ScalarType::Float32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;  // row-major, little-endian
};

// Malformed: it is none, or ends early. Unsupported: a type that tensors here do not have.
// Big-endian numbers and Fortran's order are turned.
Result<NpyArray> parse_npy(const std::string& contents);

// A file of version 1. `bytes` are all of its elements.
std::string npy_file(wire::ScalarType type, std::span<const std::int64_t> shape, ByteView bytes);

}  // namespace fettle
