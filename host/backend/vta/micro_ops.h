// Nests of steps as GEMM and ALU take them: two loops that go in equal steps, and micro-ops for
// the rest. And which micro-ops lie where in UOP.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "fpga/isa/instruction.h"

namespace fettle::vta::host {

// A loop over steps, and how far each index moves with it. dst 0: steps add to the same sum.
struct NestAxis {
  std::int64_t extent = 1, dst = 0, src = 0, wgt = 0;
};

struct Nest {
  Loops loops;  // without its place in UOP
  std::uint16_t wgt_factor_out = 0, wgt_factor_in = 0;
  std::vector<MicroOp> uops;
};

// The nest with the fewest micro-ops, from `first` on, in which no step comes too soon after
// another one that writes what it needs (hazard.h). What moves equally is one loop. Order of steps
// is free, as they are sums. Nothing: no nest fits the instruction's fields, or all have hazards.
// `alu`: src is an ACC index.
std::optional<Nest> nest_of(const Design& design, std::span<const NestAxis> axes, MicroOp first,
                            bool alu = false);

// The micro-ops of a stream: equal sequences are kept once. Where UOP is full, a new load begins.
class MicroOpTable {
 public:
  explicit MicroOpTable(std::size_t depth) : depth_(depth) {}

  // Makes room for the sequence, if it is not there. True: what was loaded is no longer there, as a
  // new load begins with this sequence.
  bool place(const std::vector<MicroOp>& uops);
  // Of a sequence that was just placed: its first index in UOP.
  std::uint16_t begin_of(const std::vector<MicroOp>& uops) const;

  // All loads, one after the other, as they lie in DRAM.
  const std::vector<MicroOp>& all() const { return all_; }
  // Micro-ops of the last load, and where it begins in all().
  std::size_t loaded() const { return all_.size() - first_; }
  std::size_t first() const { return first_; }

 private:
  struct Less {
    bool operator()(const std::vector<MicroOp>& a, const std::vector<MicroOp>& b) const;
  };
  std::size_t depth_, first_ = 0;
  std::vector<MicroOp> all_;
  std::map<std::vector<MicroOp>, std::uint16_t, Less> begins_;
};

}  // namespace fettle::vta::host
