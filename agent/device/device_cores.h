// --device-cores: the cores that a device is, or that the threads of its driver keep to.
#pragma once

#include <string>

#include "agent/device/device_config.h"
#include "agent/device/device_option.h"

namespace fettle::agent {

inline constexpr const char* kDeviceCores = "device-cores";

// DeviceOption::set: only cores that this process may use.
Result<void> set_device_cores(DeviceConfig& device, const std::string& value);

}  // namespace fettle::agent
