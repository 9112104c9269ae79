// VTA accelerators behind XRT, in their worker program.
#pragma once

#include "agent/device/device.h"
#include "agent/sandbox/sandbox.h"

namespace fettle::agent {

// Loads XRT and the .xclbin, which is read and checked again, and maps the accelerator's memory:
// call before the sandbox closes.
Result<std::unique_ptr<Device>> open_xrt(const wire::DeviceInfoT& info);
SandboxPolicy xrt_sandbox(const wire::DeviceInfoT& info);

}  // namespace fettle::agent
