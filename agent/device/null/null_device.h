// A device that computes nothing: the smallest thing that satisfies Device. Its
// runs take no time of their own; outputs become zero.
#pragma once

#include "agent/device/device.h"
#include "agent/device/device_config.h"
#include "agent/platform/system_root.h"

namespace fettle::agent {

wire::DeviceInfoT describe_null(const DeviceConfig& config, const SystemRoot& root);
Result<std::unique_ptr<Device>> open_null(const wire::DeviceInfoT& info);

}  // namespace fettle::agent
