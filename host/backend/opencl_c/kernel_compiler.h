// Users' kernels in OpenCL C: the device's driver compiles them.
#pragma once

#include <memory>

#include "host/backend/kernel_task.h"
#include "host/space/gpu_target.h"

namespace fettle::backend::opencl_c {

// Null: another language.
std::unique_ptr<const KernelCompiler> make_kernel_compiler(space::KernelLanguage language,
                                                           const space::GpuTarget& target);

}  // namespace fettle::backend::opencl_c
