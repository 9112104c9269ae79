// The buffers in DRAM that a stream may use, and what micro-ops it loads from them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fpga/isa/encoding.h"

namespace fettle::vta {

// A buffer in DRAM, by the addresses that the stream uses. What is stored to must be writable.
// Micro-ops are only loaded from regions that have contents: `bytes` of them, which nothing
// writes while the stream runs.
struct Region {
  std::string name;  // for messages
  std::uint64_t address = 0, bytes = 0;
  bool writable = false;
  ByteView contents = {};
};

// The bytes of DRAM from a transfer's first row to its last one's end; it moves something.
struct DramRange {
  std::uint64_t begin, end;
};
DramRange range_of(const Design& design, const Transfer& transfer);
// The region that holds all of it; null when none does.
const Region* region_of(const DramRange& range, std::span<const Region> regions);

// UOP, as far as a stream has loaded it.
class UopMemory {
 public:
  explicit UopMemory(const Design& design);
  std::size_t depth() const { return uops_.size(); }
  bool loaded(std::size_t index) const { return loaded_[index]; }
  std::span<const MicroOp> of(const Loops& loops) const {
    return std::span(uops_).subspan(loops.uop_begin, loops.uop_end - loops.uop_begin);
  }
  // What a LOAD of one row brings from a region with contents that holds it.
  void load(const Load& load, const Region& from);

 private:
  Encoding encoding_;
  std::vector<MicroOp> uops_;
  std::vector<bool> loaded_;
};

}  // namespace fettle::vta
