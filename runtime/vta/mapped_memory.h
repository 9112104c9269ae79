// Memory of this process that stands for a board's contiguous memory, for accelerators that are
// programs.
#pragma once

#include "runtime/vta/accelerator.h"

namespace fettle::runtime {

class MappedMemory {
 public:
  // At addresses as Zynq's DRAM has them: from 256 MiB on. InvalidArgument: more than 1 GiB, or
  // nothing; OutOfMemory: the system has none.
  static Result<MappedMemory> make(std::uint64_t bytes);
  MappedMemory(MappedMemory&& other) noexcept;
  MappedMemory& operator=(MappedMemory&&) = delete;
  ~MappedMemory();
  const ContiguousMemory& contiguous() const { return memory_; }

 private:
  explicit MappedMemory(const ContiguousMemory& memory) : memory_(memory) {}
  ContiguousMemory memory_;  // no bytes: moved from
};

inline constexpr std::uint64_t kMappedMemoryMost = std::uint64_t{1} << 30;

}  // namespace fettle::runtime
