// What an instruction reads and writes that another unit may touch, too: entries of INP, WGT and
// OUT, and bytes of DRAM that the stream writes. UOP and ACC are the compute unit's own.
#pragma once

#include <array>
#include <map>
#include <span>
#include <vector>

#include "fpga/isa/region.h"

namespace fettle::vta::host {

// Entries [first, end) of one memory. DRAM is in grains of the smallest element, of writable
// regions alone.
struct Access {
  enum class Where : std::uint8_t { Input, Weight, Output, Dram };
  Where where = Where::Input;
  std::uint32_t first = 0, end = 0;
  bool writes = false;
};
inline constexpr std::size_t kAccessed = 4;

// Of a stream's instructions, asked in their order: what GEMM and ALU touch depends on the
// micro-ops that were loaded before.
class AccessFinder {
 public:
  // Both outlive it.
  AccessFinder(const Design& design, std::span<const Region> regions);

  // Exact. Valid until the next call.
  std::span<const Access> of(const Instruction& instruction);
  std::uint32_t entries(Access::Where where) const;

 private:
  using Key = std::array<std::uint16_t, 11>;
  void add_load(const Load& load);
  void add_dram(const Transfer& transfer, bool writes);
  std::vector<Access> steps_of(const Loops& loops, const Gemm* gemm) const;
  std::span<const Access> cached(const Loops& loops, const Gemm* gemm);

  const Design& design_;
  std::span<const Region> regions_;
  UopMemory uops_;
  std::uint32_t grain_;
  std::vector<std::uint32_t> first_grain_;  // of each region; regions that are only read: none
  std::uint32_t grains_ = 0;
  std::vector<Access> found_;
  std::map<Key, std::vector<Access>> known_;  // of the micro-ops at hand
};

}  // namespace fettle::vta::host
