// Constants of a network as programs read them.
#pragma once

#include <cstdint>
#include <vector>

#include "host/model/pieces/bindings.h"
#include "schemas/wire/result.h"

namespace fettle::network {

// The elements of the tensor, which is a constant, in its order and type. Unsupported: a type that
// is not made into that one.
Result<std::vector<std::uint8_t>> stored_bytes(const model::Graph& graph,
                                               const model::Tensor& tensor);

}  // namespace fettle::network
