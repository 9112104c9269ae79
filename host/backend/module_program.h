// What a wire::Program says of a module whatever code it was compiled to: buffers and launches.
#pragma once

#include "host/ir/module.h"
#include "schemas/program_generated.h"

namespace fettle::backend {

// Buffers in the module's order. Each launch is of image 0, its entry the function's place in the
// module, its arguments the function's parameters, its parallel extent the function's. The image
// itself, `target` and max_threads are left to the caller.
wire::ProgramT module_program(const ir::Module& module);

}  // namespace fettle::backend
