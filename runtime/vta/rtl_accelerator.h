// fpga/rtl's Verilated core as an accelerator, with memory of its own behind a port as the
// simulator's estimate assumes it.
#pragma once

#include <memory>

#include "runtime/vta/accelerator.h"

namespace fettle::runtime {

// InvalidArgument: the model was built for another design; its memory as MappedMemory says.
Result<std::unique_ptr<Accelerator>> make_rtl_accelerator(const vta::Design& design,
                                                          std::uint64_t memory_bytes);

}  // namespace fettle::runtime
