// Who plays the core of a VTA device: what the option --vta-core names.
#pragma once

#include <memory>

#include "runtime/vta/accelerator.h"
#include "schemas/device_generated.h"

namespace fettle::agent {

struct VtaCore {
  const char* name;   // of the option
  const char* words;  // "simulated": in the device's name
  bool emulated;      // its cycles are no board's
  // Null: in a board's programmable logic (board_accelerator.h). Else a program, with so many bytes
  // of memory.
  Result<std::unique_ptr<runtime::Accelerator>> (*open)(const vta::Design& design,
                                                        std::uint64_t memory_bytes);
};
inline constexpr const char* kBoardCore = "board";
// What a device's clock counts when this core is of that design.
wire::ClockDomain clock_of(const VtaCore& core, const vta::Design& design);

// All, the usual one first.
std::span<const VtaCore> vta_cores();
const VtaCore* find_vta_core(std::string_view name);
// One more, of an agent that brings it; before anything else is asked.
void add_vta_core(const VtaCore& core);

}  // namespace fettle::agent
