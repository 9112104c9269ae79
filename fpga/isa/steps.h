// The steps of GEMM and ALU: their micro-ops, over their loops.
#pragma once

#include <algorithm>
#include <span>

#include "fpga/isa/instruction.h"

namespace fettle::vta {

// Calls body(dst, src, wgt) for each step, in order. `uops` are those of [uop_begin, uop_end); of
// ALU, wgt means nothing, and its factors are 0.
template <typename Body>
void for_each_step(std::span<const MicroOp> uops, const Loops& loops, std::size_t wgt_factor_out,
                   std::size_t wgt_factor_in, Body body) {
  for (std::size_t o = 0; o < loops.iter_out; ++o) {
    for (std::size_t i = 0; i < loops.iter_in; ++i) {
      const std::size_t dst = o * loops.dst_factor_out + i * loops.dst_factor_in;
      const std::size_t src = o * loops.src_factor_out + i * loops.src_factor_in;
      const std::size_t wgt = o * wgt_factor_out + i * wgt_factor_in;
      for (const MicroOp& uop : uops) body(dst + uop.dst, src + uop.src, wgt + uop.wgt);
    }
  }
}

// The largest index of all steps, of which there are some: indices grow with o and i, so it is the
// last iteration's of the largest micro-op.
inline std::uint64_t largest_index(std::span<const MicroOp> uops, std::uint16_t MicroOp::* field,
                                   const Loops& loops, std::uint64_t factor_out,
                                   std::uint64_t factor_in) {
  std::uint64_t largest = 0;
  for (const MicroOp& uop : uops) largest = std::max<std::uint64_t>(largest, uop.*field);
  return largest + (loops.iter_out - 1) * factor_out + (loops.iter_in - 1) * factor_in;
}

}  // namespace fettle::vta
