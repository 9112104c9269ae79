// How a device stands with the broker.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fettle::fleet {

enum class DeviceState : std::uint8_t {
  Free,     // waits for work
  Busy,     // holds trials
  Resting,  // held one beyond its deadline: gets nothing for a while
  Away,     // its connection is gone, it may dial in again
};

inline constexpr std::array kDeviceStates = {"free", "busy", "resting", "away"};

// How many devices of boards are in each state.
using BoardStates = std::array<std::size_t, kDeviceStates.size()>;

}  // namespace fettle::fleet
