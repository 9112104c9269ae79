// NumPy's array files (.npy, format versions 1 to 3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/ir/type.h"
#include "schemas/wire/result.h"

namespace fettle::kernel_reference {

struct NpyArray {
  ir::DataType type;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;  // row-major
};

// Malformed: it is none, or ends early. Unsupported: big-endian, Fortran's order, or a type that
// tensors here do not have.
Result<NpyArray> parse_npy(const std::string& contents);

}  // namespace fettle::kernel_reference
