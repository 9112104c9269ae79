// An ELF shared object to the flat image that a board maps (program.fbs, CpuLayout).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/space/cpu_target.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cpu_llvm {

// Entries are looked up by name and keep the given order. BuildError: a relocation
// that is not relative, an imported symbol, or a section that has no place. Where its
// instructions lie is told by the text section and, on Arm, by the mapping symbols that
// tell them from the constants between them (ELF for the Arm Architecture, 5.5.5; ELF
// for the Arm 64-bit Architecture, 5.7.4).
Result<wire::ImageT> flatten(std::span<const std::uint8_t> shared_object,
                             const space::CpuTarget& target, std::span<const std::string> entries);

}  // namespace fettle::backend::cpu_llvm
