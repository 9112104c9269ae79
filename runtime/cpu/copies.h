// Copies of one buffer behind one another in a block of memory.
#pragma once

#include <cstdint>
#include <span>

#include "schemas/fill/fill.h"
#include "schemas/program_generated.h"

namespace fettle::runtime {

// From one copy to the next: each lies at a multiple of the alignment, and no two share a cache
// line.
std::uint64_t copy_stride(std::uint64_t bytes, std::uint32_t alignment);
// What `copies` of them take together; at least one. Saturates.
std::uint64_t copies_bytes(std::uint64_t bytes, std::uint32_t alignment, std::uint32_t copies);

// Fills each with what the fill says: `data` is copies_bytes() of that buffer.
Result<void> fill_copies(const wire::FillT& fill, const BlobLookup& blobs,
                         std::span<std::uint8_t> data, const wire::BufferT& buffer,
                         std::uint32_t copies);

}  // namespace fettle::runtime
