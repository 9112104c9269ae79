// What a device's own driver tells of its clock and heat, where no file of the board's does.
#pragma once

#include <cstdint>

namespace fettle::agent {

struct DriverReading {
  std::uint32_t gpu_khz = 0;                  // 0: not known, as below
  std::int32_t temperature_millidegrees = 0;  // of the device, in place of the board's zones
  bool throttled = false;                     // its clock is held down against heat, now
};

}  // namespace fettle::agent
