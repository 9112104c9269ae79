// The CPU as a device: native code in flat images, called by pinned threads.
#pragma once

#include "agent/device/device.h"
#include "agent/device/device_config.h"
#include "agent/device/device_option.h"
#include "agent/device/self_test_program.h"
#include "agent/platform/system_root.h"
#include "agent/sandbox/sandbox.h"

namespace fettle::agent {

wire::DeviceInfoT describe_cpu(const DeviceConfig& config, const SystemRoot& root);
// Starts the measuring threads and pins the calling one: call before the sandbox closes.
Result<std::unique_ptr<Device>> open_cpu(const wire::DeviceInfoT& info);

SandboxPolicy cpu_sandbox(const wire::DeviceInfoT& info);
SelfTestProgram cpu_self_test(const wire::DeviceInfoT&);
std::span<const DeviceOption> cpu_options();

}  // namespace fettle::agent
