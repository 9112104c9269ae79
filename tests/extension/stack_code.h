// From a lowered module to an image of the stack machine.
#pragma once

#include "host/ir/module.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::extension {

struct StackImage {
  wire::ImageT image;
  std::size_t slots = 0;         // that its functions need of the stack, at most
  std::size_t instructions = 0;  // of all functions
  std::string listing;
};

// BuildError: the module holds what the machine does not have.
Result<StackImage> compile_for_stack(const ir::Module& module);

}  // namespace fettle::extension
