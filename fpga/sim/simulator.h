// The simulated accelerator: runs a stream of instructions over a memory, exactly, and estimates
// its cycles. Queues are queues here: a stream whose units wait for each other forever is found and
// explained. Streams need not be verified; what cannot be done ends the run with an Error.
#pragma once

#include <array>
#include <vector>

#include "fpga/sim/chip.h"
#include "fpga/sim/timeline.h"

namespace fettle::vta {

struct SimulatedRun {
  std::uint64_t cycles = 0;                         // until FINISH
  std::uint64_t step_cycles = 0;                    // of those, GEMM's and ALU's steps
  std::uint64_t read_beats = 0, written_beats = 0;  // of 8 bytes, instructions included
};

class Simulator {
 public:
  // Unsupported as Chip::create().
  static Result<Simulator> create(const Design& design);
  static Result<Simulator> create(const Design& design, const Timing& timing);

  // Runs the `count` instructions at `address` of `dram`, a multiple of 16. What is on the chip
  // stays from run to run; where units do not wait for each other, the order of their effects is
  // the estimate's.
  //   InvalidArgument, TooLarge: the address or the count
  //   Malformed    an instruction does not decode, or does what cannot be done
  //   RunTimeout   a deadlock, explained; no FINISH; or more than `limit` cycles
  // `spans`, when given, gets every instruction's time, in the order of their ends.
  Result<SimulatedRun> run(Dram& dram, std::uint64_t address, std::uint32_t count,
                           std::uint64_t limit = ~std::uint64_t{0},
                           std::vector<Span>* spans = nullptr);

  const Design& design() const { return design_; }

 private:
  Simulator(const Design& design, const Timing& timing, Chip chip);

  Design design_;
  Timing timing_;
  Encoding encoding_;
  Chip chip_;
};

}  // namespace fettle::vta
