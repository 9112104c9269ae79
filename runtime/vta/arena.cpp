// Pieces of contiguous memory (arena.h).
#include "runtime/vta/arena.h"

#include <string>
#include <utility>

namespace fettle::runtime {

Arena::Piece::Piece(Piece&& other) noexcept
    : arena_(std::exchange(other.arena_, nullptr)),
      address_(other.address_),
      bytes_(other.bytes_) {}

Arena::Piece::~Piece() {
  if (arena_ && --arena_->pieces_ == 0) arena_->used_ = 0;
}

Result<Arena::Piece> Arena::take(std::uint64_t bytes, std::uint64_t alignment,
                                 std::uint64_t ahead) {
  const std::uint64_t free = all_.address + used_ + ahead;
  const std::uint64_t address = (free + alignment - 1) / alignment * alignment - ahead;
  const std::uint64_t begin = address - all_.address;
  if (begin > all_.bytes.size() || bytes > all_.bytes.size() - begin) {
    return Error{ErrorCode::OutOfMemory, "no " + std::to_string(bytes) +
                                             " bytes are left of the accelerator's " +
                                             std::to_string(all_.bytes.size()) + ", of which " +
                                             std::to_string(used_) + " are in use"};
  }
  used_ = begin + bytes;
  ++pieces_;
  return Piece(
      *this, address,
      all_.bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes)));
}

}  // namespace fettle::runtime
