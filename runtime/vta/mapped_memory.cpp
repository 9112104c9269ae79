// Mapping of memory (mapped_memory.h).
#include "runtime/vta/mapped_memory.h"

#include <sys/mman.h>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace fettle::runtime {
namespace {
constexpr std::uint64_t kAddress = std::uint64_t{256} << 20;
}

Result<MappedMemory> MappedMemory::make(std::uint64_t bytes) {
  if (bytes == 0 || bytes > kMappedMemoryMost) {
    return Error{ErrorCode::InvalidArgument, "an accelerator's memory has 1 to " +
                                                 std::to_string(kMappedMemoryMost >> 20) +
                                                 " MiB, not " + std::to_string(bytes >> 20)};
  }
  void* at = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    return Error{ErrorCode::OutOfMemory,
                 std::string("mapping the accelerator's memory: ") + std::strerror(errno)};
  }
  return MappedMemory(
      {kAddress, {static_cast<std::uint8_t*>(at), static_cast<std::size_t>(bytes)}});
}

MappedMemory::MappedMemory(MappedMemory&& other) noexcept
    : memory_(std::exchange(other.memory_, ContiguousMemory{})) {}

MappedMemory::~MappedMemory() {
  if (!memory_.bytes.empty()) munmap(memory_.bytes.data(), memory_.bytes.size());
}

}  // namespace fettle::runtime
