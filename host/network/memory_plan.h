// Where tensors lie that do not live at the same time: one arena for all of them.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

namespace fettle::network {

// Alive in the steps [first, last], both included.
struct LiveTensor {
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 64;  // a power of two
  std::size_t first = 0, last = 0;
  // Of a buffer that it may be in with others: it is read through an image of no more.
  std::uint64_t most_bytes = ~std::uint64_t{0};
};

struct MemoryPlan {
  std::vector<std::uint64_t> offsets;  // of each tensor, in bytes
  std::uint64_t arena_bytes = 0;
  std::uint64_t live_bytes = 0;  // the most that is alive at once: no plan needs less
};

// No two tensors that are alive in the same step share a byte. The same for the same tensors, but
// once `stop` is asked for: what is then known is taken.
MemoryPlan plan_memory(std::span<const LiveTensor> tensors, const std::stop_token& stop = {});

// The same in buffers that are used whole, for devices that do not take a part of one: OpenCL lets
// parts overlap for reading only.
struct BufferPlan {
  struct Buffer {
    std::uint64_t bytes = 0, alignment = 64;
  };
  std::vector<Buffer> buffers;
  std::vector<std::size_t> of_tensor;
  std::uint64_t total_bytes = 0, live_bytes = 0;
};
BufferPlan plan_buffers(std::span<const LiveTensor> tensors);

}  // namespace fettle::network
