// What the launches of a piece's program do with its buffers.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/network_generated.h"

namespace fettle::network {

// Whether an argument is a buffer, and whether it is one read by texels.
bool is_texels(wire::ArgKind kind);
bool is_buffer(wire::ArgKind kind);

// In which phases launches use a buffer; one for each of the program's.
struct Use {
  bool prepare = false, run = false;
};
std::vector<Use> uses_of(const wire::ProgramT& program);

// Whether its launches take parts of buffers.
bool takes_parts(const wire::ProgramT& program);

// Of a buffer of that program, as the runtime lays it: an accelerator's begin at pages.
std::uint32_t alignment_of(const wire::BufferT& buffer, const wire::ProgramT& program);

// Whether a launch reads a buffer by texels: no other of its arguments may be of that buffer.
bool reads_texels(const wire::ProgramT& program);

// Bytes of the smallest texel by which launches read the buffer, through an image of the whole of
// it; 0: none do.
std::uint64_t texel_bytes(const wire::ProgramT& program, std::size_t buffer);

}  // namespace fettle::network
