// A VTA core and the memory that it reaches: the simulator, the Verilated core, or one on a board,
// which is driven by registers and reads and writes memory by itself.
#pragma once

#include <cstdint>
#include <span>

#include "fpga/config/design.h"

namespace fettle::runtime {

// Physically contiguous memory, mapped into this process. Addresses are the core's.
struct ContiguousMemory {
  std::uint64_t address = 0;  // a multiple of 4096, and not 0
  std::span<std::uint8_t> bytes;
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  virtual const vta::Design& design() const = 0;
  // All that streams and their data may lie in, at the same place for good.
  virtual const ContiguousMemory& memory() const = 0;
  // Whether a stream takes equally many cycles each time.
  virtual bool exact() const = 0;
  // Runs the `count` instructions at `address`, a multiple of 16 in memory(), until FINISH; its
  // cycles, or nanoseconds on a core that counts none (counts_cycles() in
  // fpga/config/register_map.h). The stream was verified for what lies there. What this process
  // wrote into the memory before is seen by the core, and what the core wrote by this process
  // after: all that it reads and writes lies before it.
  //   RunTimeout  not done after `limit` cycles, with the reason where it is known
  //   DeviceLost  the core was reset or reprogrammed meanwhile
  //   Malformed, StrayWrite, Internal  what a core that is right does of no verified stream
  // The next stream can be run after any of them, unless it is lost().
  virtual Result<std::uint64_t> run(std::uint64_t address, std::uint32_t count,
                                    std::uint64_t limit) = 0;
  // No stream can be run any more in this process: another one must open the device anew.
  virtual bool lost() const { return false; }
};

}  // namespace fettle::runtime
