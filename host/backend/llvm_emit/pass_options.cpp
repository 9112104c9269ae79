// PassOptions (pass_options.h).
#include "host/backend/llvm_emit/pass_options.h"

#include <llvm/Support/CommandLine.h>

namespace fettle::backend::llvm_emit {
namespace {

std::mutex& one_at_a_time() {
  static std::mutex mutex;
  return mutex;
}

struct Option {
  const char* name;
  bool leaves_out;  // the value without the pass
};
constexpr Option kNotForX86Kernels[] = {
    {"disable-lsr", true},
    {"disable-constant-hoisting", true},
    {"disable-copyprop", true},
    {"disable-machine-cse", true},
    {"disable-machine-dce", true},
    {"disable-machine-sink", true},
    {"disable-postra-machine-licm", true},
    {"x86-machine-combiner", false},
};

}  // namespace

PassOptions::PassOptions(Passes passes) : lock_(one_at_a_time()) {
  const bool without = passes == Passes::ForX86Kernels;
  for (const Option& option : kNotForX86Kernels) {
    const auto& all = llvm::cl::getRegisteredOptions();
    if (auto* const there = static_cast<llvm::cl::opt<bool>*>(all.lookup(option.name))) {
      there->setValue(without == option.leaves_out);
    }
  }
}

}  // namespace fettle::backend::llvm_emit
