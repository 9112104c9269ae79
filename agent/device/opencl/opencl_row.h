// OpenCL devices as the supervisor knows them, which cannot load their driver: options, a
// description that the worker completes, the self-test's program.
#pragma once

#include "agent/device/device_config.h"
#include "agent/device/device_option.h"
#include "agent/device/self_test_program.h"
#include "agent/platform/system_root.h"

namespace fettle::agent {

wire::DeviceInfoT describe_opencl(const DeviceConfig& config, const SystemRoot& root);
SelfTestProgram opencl_self_test(const wire::DeviceInfoT&);
std::span<const DeviceOption> opencl_options();

// Names in DeviceInfo.extra of what the options said.
inline constexpr const char* kOpenClLibrary = "opencl-library";
inline constexpr const char* kOpenClDevice = "opencl-device";

}  // namespace fettle::agent
