// What the driver says of a GPU: for DeviceInfo, and for the limits of a launch.
#pragma once

#include "runtime/cuda/cuda_executor.h"
#include "schemas/device_generated.h"

namespace fettle::agent {

// Completes what the supervisor described: name, memory limit where none was set, GPU facts.
Result<void> read_cuda_facts(const runtime::CudaDriver& driver, CUdevice device,
                             wire::DeviceInfoT& info);
runtime::CudaLimits cuda_limits(const wire::GpuFactsT& facts);

}  // namespace fettle::agent
