// An OpenCL device, in the process that may load its driver: fettle-worker-gpu.
#pragma once

#include "agent/device/worker_row.h"

namespace fettle::agent {

// Loads OpenCL, makes a context and a queue and completes the facts. NotFound: none of it here.
Result<std::unique_ptr<Device>> open_opencl(const wire::DeviceInfoT& info);
SandboxPolicy opencl_sandbox(const wire::DeviceInfoT& info);

}  // namespace fettle::agent
