// The core (fpga/rtl) as a device of this process: Verilated, cycle by cycle, with a memory behind
// its port. Driven through its registers (fpga/config/register_map.h), like the one on a board.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "fpga/config/design.h"
#include "fpga/rtl/device/memory_port.h"
#include "schemas/wire/result.h"

namespace fettle::vta {

struct RtlRun {
  std::uint64_t cycles = 0;  // the core's own count, from start to done
  std::uint64_t read_beats = 0, written_beats = 0;
};

class RtlCore {
 public:
  // InvalidArgument when the model was not built for this design.
  static Result<RtlCore> create(const Design& design);
  RtlCore(RtlCore&&) noexcept;
  RtlCore& operator=(RtlCore&&) noexcept;
  ~RtlCore();

  // Runs `instructions` instructions at `address` of the DRAM that lies at `base`, until done, over
  // a port of `timing` (its core half is not asked). What is on the chip stays from run to run.
  //   RunTimeout  not done after `limit` cycles; the core is stopped then
  //   StrayWrite  it went beside the DRAM
  //   Internal    a bus rule was broken, or the core says errors
  Result<RtlRun> run(std::span<std::byte> dram, std::uint64_t base, std::uint64_t address,
                     std::uint32_t instructions, const Timing& timing, std::uint64_t limit,
                     std::uint32_t disorder = 0);

  // Registers, by their offsets.
  std::uint32_t read(std::uint32_t offset);
  void write(std::uint32_t offset, std::uint32_t value);

 private:
  struct State;
  explicit RtlCore(std::unique_ptr<State> state);
  void cycle(MemoryPort* memory);

  std::unique_ptr<State> state_;
};

}  // namespace fettle::vta
