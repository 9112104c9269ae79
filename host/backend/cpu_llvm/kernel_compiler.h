// Users' kernels in C, for CPUs: by clang, freestanding, to the same flat images as our own code.
#pragma once

#include <memory>

#include "host/backend/kernel_task.h"
#include "host/space/cpu_target.h"

namespace fettle::backend::cpu_llvm {

// Null: another language.
std::unique_ptr<const KernelCompiler> make_kernel_compiler(space::KernelLanguage language,
                                                           const space::CpuTarget& target);

}  // namespace fettle::backend::cpu_llvm
