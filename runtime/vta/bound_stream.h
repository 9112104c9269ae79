// A stream with the addresses of its launch's buffers in it.
#pragma once

#include <vector>

#include "fpga/isa/region.h"
#include "runtime/memory.h"
#include "runtime/vta/vta_image.h"

namespace fettle::runtime {

// The buffers as a stream may use them. They outlive the regions.
std::vector<vta::Region> regions_of(std::span<const std::unique_ptr<BufferMemory>> buffers);

// Malformed, with the instruction: a LOAD or STORE that moves something has no relocation, or an
// address already; a relocation is another instruction's, or its address no multiple of an element.
// Relocations are ascending and name instructions and buffers that there are.
Result<std::vector<vta::Word>> bind_stream(const vta::Design& design, VtaStream stream,
                                           std::span<const wire::Relocation> relocations,
                                           std::span<const vta::Region> regions);

}  // namespace fettle::runtime
