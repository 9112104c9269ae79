// Buffers in DRAM (region.h).
#include "fpga/isa/region.h"

namespace fettle::vta {

// Sums of less than 2^32 elements of 2^16 bytes and more elements: they do not overflow.
DramRange range_of(const Design& design, const Transfer& transfer) {
  const std::uint64_t element = design.element_bytes(transfer.memory);
  const std::uint64_t begin = transfer.dram_base * element;
  const std::uint64_t elements =
      (transfer.y_size - 1) * std::uint64_t{transfer.x_stride} + transfer.x_size;
  return {begin, begin + elements * element};
}

const Region* region_of(const DramRange& range, std::span<const Region> regions) {
  for (const Region& region : regions) {
    if (range.begin >= region.address && range.end <= region.address + region.bytes) return &region;
  }
  return nullptr;
}

UopMemory::UopMemory(const Design& design)
    : encoding_(design), uops_(design.depth(Memory::Uop)), loaded_(uops_.size()) {}

void UopMemory::load(const Load& load, const Region& from) {
  std::size_t at = std::uint64_t{load.dram_base} * 4 - from.address;
  for (std::size_t i = load.sram_base; i < std::size_t{load.sram_base} + load.x_size;
       ++i, at += 4) {
    std::uint32_t bits = 0;
    for (unsigned k = 0; k < 4; ++k) bits |= std::uint32_t{from.contents[at + k]} << (8 * k);
    uops_[i] = encoding_.decode(bits);
    loaded_[i] = true;
  }
}

}  // namespace fettle::vta
