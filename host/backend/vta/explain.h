// What `fettle explain` shows of a program.
#pragma once

#include <string>

#include "host/backend/vta/computation.h"

namespace fettle::vta::host {

// dump_after: "": all of it; "generate", "tokens": the instructions after that pass.
// InvalidArgument: another one. BuildError: the program does not pass the verifier.
Result<std::string> explained(const Computation& computation, const space::SearchSpace& space,
                              const space::Configuration& configuration, const Design& design,
                              Generated program, const std::string& dump_after);

}  // namespace fettle::vta::host
