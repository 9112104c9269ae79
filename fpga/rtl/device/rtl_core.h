// The core (fpga/rtl) as a device of this process: Verilated, cycle by cycle, with a memory behind
// its port. Driven through its registers, like the one on a board.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "fpga/config/design.h"
#include "fpga/rtl/device/memory_port.h"
#include "schemas/wire/result.h"

namespace fettle::vta {

// Registers of the core, as byte offsets; fpga/rtl/README.md says what they hold.
enum class Register : std::uint16_t {
  Control = 0x00,  // written: bit 0 start, bit 1 stop; read: bit 0 running, bit 1 done
  CyclesLow = 0x04,
  InstructionCount = 0x08,
  InstructionAddress = 0x0c,
  UopBase = 0x10,
  InputBase = 0x14,
  WeightBase = 0x18,
  AccumulatorBase = 0x1c,
  OutputBase = 0x20,
  CyclesHigh = 0x24,  // as of the last read of the low half
  Errors = 0x28,      // bit 0 a read failed, bit 1 a write failed, bit 2 an unknown instruction
  InterruptEnable = 0x2c,
  Identification = 0x3c,
  ConfigurationHash = 0x40,  // eight registers
};
inline constexpr std::uint32_t kIdentification = 0x46544c31;

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

  std::uint32_t read(Register at, std::uint32_t index = 0);
  void write(Register at, std::uint32_t value);
  bool interrupt() const;

 private:
  struct State;
  explicit RtlCore(std::unique_ptr<State> state);
  void cycle(MemoryPort* memory);

  std::unique_ptr<State> state_;
};

}  // namespace fettle::vta
