// Whether what a stream computes follows from its buffers alone: not from how fast its units are,
// nor from what was on the chip before. Another stream keeps to its buffers, too, but may be
// right on one core or simulator and wrong on the next.
#pragma once

#include <span>

#include "fpga/isa/verify.h"

namespace fettle::vta {

// Of a stream that verify() passed with the same regions. Malformed, with the instructions,
//  - when two units touch the same entry of INP, WGT or OUT, or the same bytes of DRAM, one of
//    them writes, and no tokens make one wait for the other;
//  - when an entry of INP, WGT, ACC or OUT is read that nothing before has written; on the HLS
//    core a reset leaves OUT without a value (instruction.h).
// Exact: every step of every loop is looked at, so it takes about as long as the simulator's sums.
Result<void> check_determined(const Design& design, std::span<const Word> words,
                              std::span<const Region> regions);

}  // namespace fettle::vta
