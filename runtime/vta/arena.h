// An accelerator's contiguous memory, handed out piece by piece: the buffers of a program and its
// streams.
#pragma once

#include "runtime/vta/accelerator.h"

namespace fettle::runtime {

class Arena {
 public:
  explicit Arena(const ContiguousMemory& all) : all_(all) {}
  Arena(const Arena&) = delete;

  // Goes back when it ends. Must not outlive its arena.
  class Piece {
   public:
    Piece(Piece&& other) noexcept;
    Piece& operator=(Piece&&) = delete;
    ~Piece();
    std::uint64_t address() const { return address_; }
    std::span<std::uint8_t> bytes() const { return bytes_; }

   private:
    friend class Arena;
    Piece(Arena& arena, std::uint64_t address, std::span<std::uint8_t> bytes)
        : arena_(&arena), address_(address), bytes_(bytes) {}
    Arena* arena_;  // null: moved from
    std::uint64_t address_;
    std::span<std::uint8_t> bytes_;
  };

  // The next `bytes` bytes whose address + `ahead` is a multiple of `alignment`, a power of two.
  // Pieces follow one another, and the first one after all have gone back is at the beginning
  // again: equal programs lie equally, whatever ran before. OutOfMemory.
  Result<Piece> take(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t ahead = 0);

 private:
  ContiguousMemory all_;
  std::uint64_t used_ = 0;  // bytes
  std::size_t pieces_ = 0;
};

}  // namespace fettle::runtime
