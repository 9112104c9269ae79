// An ELF shared object to the flat image that a board maps (program.fbs, CpuLayout).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/space/target.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cpu_llvm {

// Entries are looked up by name and keep the given order. BuildError: a relocation
// that is not relative, an imported symbol, or a section that has no place.
Result<wire::ImageT> flatten(std::span<const std::uint8_t> shared_object,
                             const space::Target& target, std::span<const std::string> entries);

// Where instructions lie in that image, by its text section and, on Arm, by the mapping
// symbols that tell them from the constants between them (ELF for the Arm
// Architecture, 5.5.5; ELF for the Arm 64-bit Architecture, 5.7.4).
struct CodeRange {
  std::uint64_t begin, end;
};
Result<std::vector<CodeRange>> code_ranges(std::span<const std::uint8_t> shared_object,
                                           const space::Target& target);

}  // namespace fettle::backend::cpu_llvm
