// The last step of compilation, shared by candidates and the runtime.
#pragma once

#include <cstdint>
#include <vector>

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "schemas/wire/result.h"

namespace fettle::backend::cpu_llvm {

// Runs instruction selection and writes an ELF relocatable object.
Result<std::vector<std::uint8_t>> write_object(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace fettle::backend::cpu_llvm
