// What a buffer's Fill means, in bytes: shared by host and agent, so that tensors
// are not uploaded for a trial and both sides compute on the same inputs.
//
// Element i of stream s is made from word i of Philox4x32-10 (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011): counter {i / 4, 0, 0, 0}
// (64-bit), key {low 32 bits of s, high 32 bits of s}, output word i % 4.
//   UniformReal: magnitude low + (high - low) * (w >> 8) * 2^-24 computed in double
//                and rounded once to dtype; negative if bit 0 of w is set.
//   UniformInt:  low + (w * (high - low + 1)) >> 32.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "schemas/program_generated.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/result.h"

namespace fettle {

// Four words of the generator.
struct PhiloxBlock {
  std::uint32_t word[4];
};
PhiloxBlock philox(std::uint64_t counter, std::uint64_t key);

std::size_t bytes_of(wire::ScalarType type);

// Fills `out` (whole elements; the rest bytes are zero) as `fill` says; Blob is not
// handled here. Unsupported: UniformReal of integers, UniformInt of
// Float16, Float64 and Bool.
Result<void> fill_bytes(const wire::FillT& fill, std::span<std::uint8_t> out);

// Whether both give the same bytes, to buffers of equal size.
bool same_fill(const wire::FillT& a, const wire::FillT& b);

// Bytes of a blob by hash; empty when they are not at hand.
using BlobLookup = std::function<ByteView(const wire::Hash&)>;

// As fill_bytes, and Blob too: MissingBlob when its bytes are not at hand, InvalidArgument
// when they are not as many as `out`.
Result<void> fill_buffer(const wire::FillT& fill, const BlobLookup& blobs,
                         std::span<std::uint8_t> out);

}  // namespace fettle
