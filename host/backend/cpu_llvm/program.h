// ir::Module → wire::Program: compile, link, flatten, and say what is launched.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "host/backend/cpu_llvm/codegen.h"
#include "host/ir/module.h"
#include "host/space/cpu_target.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cpu_llvm {

// BuildError: this module cannot be built. Internal: also when an image for a CPU
// without FMA holds one, which the disassembly is searched for.
Result<wire::ProgramT> make_program(const ir::Module& module, const space::CpuTarget& target,
                                    Compiler& compiler);
// The image alone.
Result<wire::ImageT> make_image(const ir::Module& module, const space::CpuTarget& target,
                                Compiler& compiler);

// One of compiled objects and what they call behind our back (runtime.h); `names` are its entry
// points. `bytes`: the code may compute in int8, so that dot products of bytes are looked for too.
// BuildError: as link_shared_object, flatten and check_no_system_calls; Internal as make_program.
Result<wire::ImageT> link_image(std::span<const std::span<const std::uint8_t>> objects,
                                std::span<const std::string> names, const space::CpuTarget& target,
                                bool bytes);

// With a compiler for this once.
Result<wire::ProgramT> make_program(const ir::Module& module, const space::CpuTarget& target);
Result<wire::ImageT> make_image(const ir::Module& module, const space::CpuTarget& target);

}  // namespace fettle::backend::cpu_llvm
