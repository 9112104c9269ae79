// An image of DRAM (dram.h).
#include "fpga/sim/dram.h"

#include <cstring>

namespace fettle::vta {

std::uint8_t* DramImage::find(std::uint64_t address, std::size_t bytes) {
  if (address < base_ || address - base_ > bytes_.size() ||
      bytes > bytes_.size() - (address - base_)) {
    return nullptr;
  }
  return bytes_.data() + (address - base_);
}

bool DramImage::read(std::uint64_t address, std::span<std::uint8_t> to) {
  const std::uint8_t* from = find(address, to.size());
  if (from) std::memcpy(to.data(), from, to.size());
  return from != nullptr;
}

bool DramImage::write(std::uint64_t address, std::span<const std::uint8_t> from) {
  std::uint8_t* to = find(address, from.size());
  if (to) std::memcpy(to, from.data(), from.size());
  return to != nullptr;
}

}  // namespace fettle::vta
