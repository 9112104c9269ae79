// What the rows of GPUs have in common, on the supervisor's side: it loads no driver.
#pragma once

#include <string>

#include "agent/device/device_config.h"
#include "agent/device/self_test_program.h"

namespace fettle::agent {

// Facts that need no driver; settings of the device's own options travel as DeviceInfo.extra.
wire::DeviceInfoT describe_gpu(const DeviceConfig& config, wire::DeviceKind kind, const char* name);
// A kernel `store_one`, of which one thread stores 1.0f into its one argument.
SelfTestProgram gpu_self_test(wire::ImageKind kind, const std::string& text);

}  // namespace fettle::agent
