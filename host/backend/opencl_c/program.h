// ir::Module → wire::Program of an OpenCL device: OpenCL C, and how each kernel is launched.
#pragma once

#include "host/ir/module.h"
#include "host/space/gpu_target.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::backend::opencl_c {

// The driver compiles it: what it refuses is a failure of the trial.
Result<wire::ProgramT> make_program(const ir::Module& module, const space::GpuTarget& target);

}  // namespace fettle::backend::opencl_c
