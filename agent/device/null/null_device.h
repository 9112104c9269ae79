// A device that computes nothing: the smallest thing that satisfies Device. Its
// runs take no time of their own; outputs become zero.
#pragma once

#include "agent/device/device.h"
#include "agent/device/device_config.h"
#include "agent/device/self_test_program.h"
#include "agent/platform/system_root.h"
#include "agent/sandbox/sandbox.h"

namespace fettle::agent {

wire::DeviceInfoT describe_null(const DeviceConfig& config, const SystemRoot& root);
Result<std::unique_ptr<Device>> open_null(const wire::DeviceInfoT& info);
SandboxPolicy null_sandbox(const wire::DeviceInfoT& info);
SelfTestProgram null_self_test(const wire::DeviceInfoT&);

}  // namespace fettle::agent
