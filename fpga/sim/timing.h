// What the simulator's estimate of cycles assumes of a core and of the memory behind it.
#pragma once

#include <cstdint>

#include "fpga/config/design.h"

namespace fettle::vta {

inline constexpr std::uint32_t kBeatBytes = 8;  // of the 64-bit port

struct Timing {
  // The port. Its defaults stand for the Pynq's coherent port (S_AXI_ACP): latency and depth are
  // assumptions, no board was at hand.
  std::uint32_t read_latency = 40;   // cycles from an address to its first beat
  std::uint32_t write_latency = 20;  // from the last beat to the answer
  std::uint32_t outstanding_reads = 8, outstanding_writes = 8;  // bursts
  std::uint32_t burst_beats = 16;                               // at most; none crosses 4 KiB
  bool shared_beat = true;  // one beat a cycle for both directions together

  // The core. Beats that it has room for: of the load unit's reads and of the compute unit's, and
  // of the instructions' reads.
  std::uint32_t buffer_beats = 128, fetch_buffer_beats = 64;
  std::uint32_t dispatch_cycles = 2;  // an instruction to its command queue
  std::uint32_t command_cycles = 2;   // through the command queue
  std::uint32_t token_cycles = 1;     // from an end to who waits for it
  std::uint32_t waiting_loads = 4;    // loads whose data are asked for while others are written
  bool overlap = true;                // of one unit's instructions
  std::uint32_t step_cycles = 1;      // GEMM, reset
  std::uint32_t alu_imm_cycles = 1, alu_cycles = 2;  // a step with an immediate, with two operands
  std::uint32_t step_latency = 9;                    // from the first step to its result
};

// Of fpga/rtl's core, or of the stock HLS cores: those were not measured, theirs is a guess from
// their sources' initiation intervals.
Timing timing_of(const Design& design);

}  // namespace fettle::vta
