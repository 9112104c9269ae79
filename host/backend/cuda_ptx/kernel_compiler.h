// Users' kernels for NVIDIA's GPUs: CUDA C++ by NVRTC, and PTX as it is.
#pragma once

#include <memory>

#include "host/backend/kernel_task.h"
#include "host/space/gpu_target.h"

namespace fettle::backend::cuda_ptx {

// Null: another language.
std::unique_ptr<const KernelCompiler> make_kernel_compiler(space::KernelLanguage language,
                                                           const space::GpuTarget& target);

}  // namespace fettle::backend::cuda_ptx
