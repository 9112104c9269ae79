// The registers of the cores as data: where they are, and what starts a stream and says that it has
// ended. Who drives a core (a board's agent) and who plays one (an emulated board) read the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "fpga/config/design.h"

namespace fettle::vta {

// What is written to a register before, and to begin, a stream.
enum class RegisterValue : std::uint8_t {
  InstructionCount,
  InstructionAddress,  // physical, in bytes
  Zero,                // base addresses: instructions say whole ones
  Start,               // once
  StartForever,        // starts again whenever it is done: HLS's auto-restart
};

struct RegisterWrite {
  std::uint32_t offset;
  RegisterValue value;
};

// Ended once (what is read & mask) == value. Whether that is then cleared by reading, by the next
// start, or only by the next stream's first compute instruction differs.
struct RegisterTest {
  std::uint32_t offset, mask, value;
};

struct RegisterMap {
  std::uint64_t base;                     // physical, on Zynq-7000
  std::uint32_t bytes;                    // of the window, from base on
  std::span<const RegisterWrite> launch;  // in this order
  RegisterTest done;
  // Cleared by the next stream's first compute instruction only: until then the last stream's is
  // seen. Streams begin with a compute instruction that waits for nothing.
  bool done_is_stale;
  // What the stock core lacks.
  std::optional<std::uint32_t> cycles_low, cycles_high;  // the low half is read first
  std::optional<RegisterTest> identification;            // holds on any such core
  std::optional<std::uint32_t> identity;  // 8 registers: Design::identity(), first byte lowest
  std::optional<RegisterTest> healthy;    // no error since the start
  std::optional<RegisterTest> stopped;    // after `stop` was written
  std::optional<std::pair<std::uint32_t, std::uint32_t>>
      stop;  // offset and value that end a stream
};

const RegisterMap& register_map(Core core);
inline bool counts_cycles(const RegisterMap& map) { return map.cycles_low && map.cycles_high; }
// What to write for a value.
std::uint32_t register_value(RegisterValue value, std::uint32_t instruction_count,
                             std::uint32_t instruction_address);

}  // namespace fettle::vta
