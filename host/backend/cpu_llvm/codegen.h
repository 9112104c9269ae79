// From ir::Module to a relocatable object in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/ir/module.h"
#include "host/space/cpu_target.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cpu_llvm {

struct Object {
  std::vector<std::uint8_t> bytes;  // ELF, ET_REL
  std::string llvm_ir;              // after optimisation; only when asked for
};

// Every function becomes an entry point of its own name. BuildError: LLVM refuses
// the module; Internal: the IR holds what lowering should have removed.
Result<Object> compile_object(const ir::Module& module, const space::CpuTarget& target,
                              bool keep_llvm_ir = false);

}  // namespace fettle::backend::cpu_llvm
