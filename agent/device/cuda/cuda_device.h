// A CUDA GPU as a device, in the process that may load its driver: fettle-worker-gpu.
#pragma once

#include "agent/device/worker_row.h"

namespace fettle::agent {

// Loads the driver, makes a context and completes the facts. NotFound: no driver or no such GPU.
Result<std::unique_ptr<Device>> open_cuda(const wire::DeviceInfoT& info);
SandboxPolicy cuda_sandbox(const wire::DeviceInfoT& info);

}  // namespace fettle::agent
