// The accumulator hazard: the pipeline reads ACC before what the last micro-ops wrote has arrived.
#pragma once

#include <optional>
#include <span>

#include "fpga/isa/instruction.h"

namespace fettle::vta {

// A pair of steps of an instruction's loops that are too near, of which the later needs what the
// earlier wrote.
struct Hazard {
  std::uint32_t index;     // into ACC
  std::uint32_t distance;  // 1: the very next step
  std::uint16_t uop;       // the later one's micro-op, from uop_begin on
  bool operator==(const Hazard&) const = default;
};

// Whether any step writes an ACC entry that one of the `distance` steps before it wrote or, where
// `reads_src`, reads one as its src (ALU without an immediate). `uops` are those of
// [uop_begin, uop_end). Exact over all iterations: as the difference of two steps' indices does
// not depend on the iteration, but for src, the work is at most one pass over the micro-ops
// (times the shorter loop for src).
std::optional<Hazard> find_hazard(std::span<const MicroOp> uops, const Loops& loops, bool reads_src,
                                  std::uint32_t distance);

}  // namespace fettle::vta
