// Kernels in OpenCL C: the device's driver compiles them.
#pragma once

#include "host/backend/own_kernel/kernel_task.h"

namespace fettle::backend {

// Errors as of open_kernel_task.
Result<std::unique_ptr<const Task>> open_opencl_kernel(space::OwnKernel kernel,
                                                       const space::Target& target);

}  // namespace fettle::backend
