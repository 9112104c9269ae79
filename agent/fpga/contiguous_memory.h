// Physically contiguous memory that processes can map, from whichever driver the board has.
#pragma once

#include <cstdint>
#include <string>

#include "agent/platform/owned_fd.h"
#include "agent/platform/system_root.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

// Who holds `fd` can map this memory (and, of UIO, the registers beside it), and no other.
struct ContiguousPiece {
  std::string provider;  // "u-dma-buf udmabuf0"
  OwnedFd fd;
  std::uint64_t offset = 0;   // of the memory, for mmap
  std::uint64_t address = 0;  // physical, a multiple of 4096
  std::uint64_t bytes = 0;
  // Mapped through the CPU's caches: what the ACP, which looks into them, agrees with. Memory
  // mapped past them is not coherent there, since the ACP leaves lines in the L2 cache.
  bool cached = false;
};

// At most `bytes`, and no less than kLeastContiguous; the first that there is of
//   u-dma-buf, opened without O_SYNC;
//   zocl, PYNQ's from 2.7 on: a buffer object of its own;
//   another map of the UIO device that has the registers at `registers`: not cached.
// NotFound says what was looked for, and the system's reasons.
Result<ContiguousPiece> find_contiguous_memory(const SystemRoot& root, std::uint64_t bytes,
                                               std::uint64_t registers);
inline constexpr std::uint64_t kLeastContiguous = std::uint64_t{1} << 20;

// Of the DRM device at `path`. Unsupported: it is another driver's than zocl. `io` is ioctl(2).
using Ioctl = int (*)(int fd, unsigned long request, void* argument);
Result<ContiguousPiece> allocate_from_zocl(const std::string& path, std::uint64_t bytes, Ioctl io);

}  // namespace fettle::agent
