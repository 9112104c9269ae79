// Which LLVM this program runs with.
#pragma once

#include <string>

namespace fettle::backend {

std::string llvm_version();  // "19.1.7"

}  // namespace fettle::backend
