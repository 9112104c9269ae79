// The agent's row of the stack machine.
#pragma once

#include "agent/device/registry.h"

namespace fettle::extension {

inline constexpr std::uint32_t kFewestSlots = 8, kUsualSlots = 64;
// How DeviceInfo::extra tells the slots of its stack.
inline constexpr const char* kSlotsName = "stack_slots";

// Of --device-kind stack. Its own option: --stack-slots N.
const agent::DeviceRow& stack_device_row();

}  // namespace fettle::extension
