// Objects to one ELF shared object, by lld inside this process.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/space/cpu_target.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cpu_llvm {

// Inputs and output are anonymous memory; nothing is left in a file system.
// BuildError: lld's first complaint, which names an undefined symbol. Internal, and
// from then on always: lld crashed and cannot run again in this process.
Result<std::vector<std::uint8_t>> link_shared_object(
    std::span<const std::span<const std::uint8_t>> objects, const space::CpuTarget& target);

}  // namespace fettle::backend::cpu_llvm
