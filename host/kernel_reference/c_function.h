// A C function that says what a kernel's outputs must be, compiled for this machine and run in a
// process of its own: whatever it does, this one goes on.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "host/space/own_kernel/own_kernel.h"
#include "schemas/wire/result.h"

namespace fettle::kernel_reference {

// Bytes of each output, in their order. `inputs`: of each argument that is an input, in theirs.
// It is called with the kernel's arguments but scratch.
Result<std::vector<std::vector<std::uint8_t>>> run_c_function(
    const space::OwnKernel& kernel, const std::vector<std::vector<std::uint8_t>>& inputs,
    const std::stop_token& stop);

}  // namespace fettle::kernel_reference
