// Tensors as the reference evaluator holds them: row-major, every element a double.
#pragma once

#include <cstdint>
#include <vector>

#include "host/ir/type.h"
#include "schemas/wire/result.h"

namespace fettle::space {

using Tensor = std::vector<double>;

// From and to the bytes of a buffer of that type. Unsupported: a type without a C++ one
// here. to_bytes expects values that the type can hold.
Result<Tensor> to_doubles(const std::vector<std::uint8_t>& bytes, ir::DataType type);
Result<std::vector<std::uint8_t>> to_bytes(const Tensor& tensor, ir::DataType type);

}  // namespace fettle::space
