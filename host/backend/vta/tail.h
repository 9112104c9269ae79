// The tail of a product (product.h): what stages behind the sum make of it, as steps of the ALU.
#pragma once

#include <optional>

#include "host/backend/vta/product.h"

namespace fettle::vta::host {

// Reads the stages from `sum` to the output: initial, tail, output and the buffers that they need.
// out_axis: the sum's axis of blocks of channels, if it has one.
// Unsupported: something that the ALU does not do, or an output that is no int8.
Result<void> read_tail(const space::ComputeDag& dag, const space::Stage& sum,
                       std::optional<std::size_t> out_axis, const Design& design, Product& product);

}  // namespace fettle::vta::host
