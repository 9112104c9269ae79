// LLVM's version (llvm_version.h).
#include "host/backend/llvm_emit/llvm_version.h"

#include <llvm-c/Core.h>

namespace fettle::backend {

std::string llvm_version() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace fettle::backend
