// The CPU as a device: native code in flat images, called by pinned threads.
#pragma once

#include "agent/device/device.h"
#include "agent/device/device_config.h"
#include "agent/platform/system_root.h"

namespace fettle::agent {

wire::DeviceInfoT describe_cpu(const DeviceConfig& config, const SystemRoot& root);
// Starts the measuring threads and pins the calling one: call before the sandbox closes.
Result<std::unique_ptr<Device>> open_cpu(const wire::DeviceInfoT& info);

// Bytes that a CPU device keeps of filled inputs, and as many of buffers to use again: for the
// worker's memory limit.
std::uint64_t kept_bytes(const wire::DeviceInfoT& info);

}  // namespace fettle::agent
