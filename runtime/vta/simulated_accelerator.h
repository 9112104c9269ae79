// fpga/sim's simulator as an accelerator, with memory of its own.
#pragma once

#include <memory>

#include "runtime/vta/accelerator.h"

namespace fettle::runtime {

// Unsupported: a design that is not simulated; OutOfMemory, InvalidArgument: its memory
// (MappedMemory).
Result<std::unique_ptr<Accelerator>> make_simulated_accelerator(const vta::Design& design,
                                                                std::uint64_t memory_bytes);

}  // namespace fettle::runtime
