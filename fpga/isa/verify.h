// Whether a stream of instructions may run: host and agent ask before a device sees it. There is no
// IOMMU behind the accelerator, so what passes here must not touch memory beyond its buffers,
// whatever the stream says.
#pragma once

#include <array>
#include <span>

#include "fpga/isa/region.h"

namespace fettle::vta {

// What a stream does, counted.
struct StreamFacts {
  std::uint64_t gemm_steps = 0, reset_steps = 0;
  std::uint64_t alu_imm_steps = 0, alu_steps = 0;  // with an immediate; with two operands
  std::array<std::uint64_t, kMemories> loaded_bytes = {};
  std::uint64_t stored_bytes = 0;
};

// Malformed, with the instruction's number and text, unless
//  - every word decodes; LOADs of INP and ACC alone pad, LOADs of UOP have one row; what moves or
//    computes nothing has no pads and no loops;
//  - every on-chip index of every iteration lies in its memory, and every DRAM row of an
//    instruction in one region;
//  - the micro-ops of GEMM and ALU have been loaded by this stream;
//  - no accumulator hazard of the design is there (hazard.h), but for resets;
//  - tokens go to neighbours that a unit has, no unit waits forever with the design's queues, and
//  no
//    token is left over;
//  - FINISH is the last instruction and the only one, pops nothing, and comes after every load and
//    store has ended, whatever their speed.
// Its work is linear in the instructions and in the cycles that they would take.
Result<StreamFacts> verify(const Design& design, std::span<const Word> words,
                           std::span<const Region> regions);

}  // namespace fettle::vta
