// VTA accelerators behind XRT (Zynq UltraScale+, Alveo) as the supervisor knows them, which cannot
// load XRT: options, a description by the .xclbin alone, the self-test's program.
#pragma once

#include "agent/device/device_config.h"
#include "agent/device/device_option.h"
#include "agent/device/self_test_program.h"
#include "agent/platform/system_root.h"

namespace fettle::agent {

// Names in DeviceInfo.extra of what the options said.
inline constexpr const char* kXrtXclbin = "xrt-xclbin";
inline constexpr const char* kXrtDevice = "xrt-device";
inline constexpr const char* kXrtLibrary = "xrt-library";

// The file was read when its option was; without one, or when it is gone by now, the device is
// described as of no design, and its worker refuses to open it.
wire::DeviceInfoT describe_xrt(const DeviceConfig& config, const SystemRoot&);
SelfTestProgram xrt_self_test(const wire::DeviceInfoT& info);
std::span<const DeviceOption> xrt_options();

}  // namespace fettle::agent
