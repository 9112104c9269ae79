// What this program builds with. Two machines of one build version make the same program of a
// task, a configuration and a target, whoever of them is asked.
#pragma once

#include <string>

#include "schemas/wire/result.h"

namespace fettle::app {

// "0.1.0-0123456789abcdef": fettle's version, and a hash of this program's file, of LLVM's where
// that is a file of its own, and of the versions of ptxas. Io.
Result<std::string> build_version();

}  // namespace fettle::app
