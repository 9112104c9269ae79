// The option --device-cores (device_cores.h).
#include "agent/device/device_cores.h"

#include "agent/platform/cpu_facts.h"
#include "agent/platform/system_root.h"

namespace fettle::agent {

Result<void> set_device_cores(DeviceConfig& device, const std::string& value) {
  const auto cores = parse_core_list(value);
  if (!cores) {
    return wrong_option(kDeviceCores, "takes a list such as 1,2 or 4-5, not '" + value + "'");
  }
  for (std::uint32_t core : *cores) {
    bool usable = false;
    for (std::uint32_t mine : usable_cores()) usable = usable || mine == core;
    if (!usable) {
      return wrong_option(
          kDeviceCores, "names core " + std::to_string(core) + ", which this process may not use");
    }
  }
  device.cores = *cores;
  return {};
}

}  // namespace fettle::agent
