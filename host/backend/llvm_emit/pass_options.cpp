// PassOptions (pass_options.h).
#include "host/backend/llvm_emit/pass_options.h"

#include <llvm/Support/CommandLine.h>

namespace fettle::backend::llvm_emit {
namespace {

std::mutex& one_at_a_time() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

PassOptions::PassOptions() : PassOptions(true) {}

PassOptions::PassOptions(bool strength_reduction) : lock_(one_at_a_time()) {
  static auto* const without =
      static_cast<llvm::cl::opt<bool>*>(llvm::cl::getRegisteredOptions().lookup("disable-lsr"));
  if (without) without->setValue(!strength_reduction);
}

}  // namespace fettle::backend::llvm_emit
