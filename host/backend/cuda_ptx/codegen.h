// From ir::Module to PTX, by LLVM.
#pragma once

#include <memory>
#include <string>

#include "host/ir/module.h"
#include "host/space/gpu_target.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cuda_ptx {

// All functions as kernels (gpu_program.h: kernel_name), in one PTX text. BuildError: LLVM
// refuses one; Internal: the IR holds what lowering should have removed.
Result<std::string> make_ptx(const ir::Module& module, const space::GpuTarget& target);

}  // namespace fettle::backend::cuda_ptx
