// ir::Module → wire::Program of a GPU, but for the code: how each kernel is launched.
#pragma once

#include <memory>
#include <string>

#include "host/ir/module.h"
#include "schemas/program_generated.h"

namespace fettle::backend {

// The kernel's name in the code: no word of PTX or of OpenCL C begins so.
std::string kernel_name(const ir::Function& function);

// As module_program's, with `image`, an entry point of it for each function, and grids and blocks.
wire::ProgramT gpu_module_program(const ir::Module& module, std::unique_ptr<wire::ImageT> image);

// What is launched, a line for each launch.
std::string launches_text(const ir::Module& module);

}  // namespace fettle::backend
