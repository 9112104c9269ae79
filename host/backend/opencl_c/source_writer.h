// From ir::Module to OpenCL C 1.2, for people to read and for drivers to compile.
#pragma once

#include <string>

#include "host/ir/module.h"
#include "host/space/gpu_target.h"
#include "schemas/wire/result.h"

namespace fettle::backend::opencl_c {

// All functions as kernels (gpu_program.h: kernel_name), in one text. Internal: the IR holds what
// lowering should have removed, or what OpenCL C 1.2 does not have.
Result<std::string> make_source(const ir::Module& module, const space::GpuTarget& target);

}  // namespace fettle::backend::opencl_c
