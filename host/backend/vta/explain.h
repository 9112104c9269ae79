// What `fettle explain` shows of a program.
#pragma once

#include <string>

#include "host/backend/vta/bound.h"
#include "host/backend/vta/generate.h"

namespace fettle::vta::host {

// dump_after: "": all of it; "generate", "tokens": the instructions after that pass.
// InvalidArgument: another one. BuildError: the program does not pass the verifier.
Result<std::string> explained(const Product& product, const Design& design, const Tiling& tiling,
                              const Bound& bound, Generated program, const std::string& dump_after);

}  // namespace fettle::vta::host
