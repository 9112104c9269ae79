// Where copies lie, and their contents (copies.h).
#include "runtime/cpu/copies.h"

#include <algorithm>
#include <cstring>

namespace fettle::runtime {

std::uint64_t copy_stride(std::uint64_t bytes, std::uint32_t alignment) {
  const std::uint64_t unit = std::max<std::uint64_t>(alignment, 64);
  return (bytes + unit - 1) / unit * unit;
}

std::uint64_t copies_bytes(std::uint64_t bytes, std::uint32_t alignment, std::uint32_t copies) {
  const std::uint64_t stride = copy_stride(bytes, alignment);
  if (copies > 1 && stride > (UINT64_MAX - bytes) / (copies - 1)) return UINT64_MAX;
  return stride * (copies - 1) + bytes;
}

Result<void> fill_copies(const wire::FillT& fill, const BlobLookup& blobs,
                         std::span<std::uint8_t> data, const wire::BufferT& buffer,
                         std::uint32_t copies) {
  const auto one = static_cast<std::size_t>(buffer.bytes);
  if (auto filled = fill_buffer(fill, blobs, data.first(one)); !filled) return filled;
  const auto stride = static_cast<std::size_t>(copy_stride(buffer.bytes, buffer.alignment));
  for (std::uint32_t i = 1; i < copies; ++i) {
    std::memcpy(data.data() + i * stride, data.data(), one);
  }
  return {};
}

}  // namespace fettle::runtime
