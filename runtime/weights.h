// A program's weights: the constants that its runs read, and what Prepare launches made of them. In
// a network no run of a layer finds them in the caches, as those of all other layers went through
// since.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/program_generated.h"

namespace fettle::runtime {

// Of each buffer, whether it is one.
std::vector<bool> weights_of(const wire::ProgramT& program);
// How many copies of all of them take `bytes` together: 1 to kMostCopies, 1 where there are none.
std::uint32_t copies_of_weights(const wire::ProgramT& program, std::uint64_t bytes);
inline constexpr std::uint32_t kMostCopies = 4096;

}  // namespace fettle::runtime
