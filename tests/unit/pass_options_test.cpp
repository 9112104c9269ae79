// Options of LLVM's passes, beside lld, which sets them back.
#include <cstdlib>

#include <gtest/gtest.h>
#include <llvm/Support/CommandLine.h>

#include "host/backend/cpu_llvm/program.h"
#include "host/backend/llvm_emit/pass_options.h"
#include "tests/support/native_run.h"
#include "tests/unit/cpu_llvm_cases.h"

namespace fettle::testing {
namespace {

using backend::llvm_emit::Passes;
using backend::llvm_emit::PassOptions;

bool value_of(const char* name) {
  const llvm::cl::Option* option = llvm::cl::getRegisteredOptions().lookup(name);
  if (!option) std::abort();  // this LLVM has no such option: x86 would be built with the pass
  return static_cast<const llvm::cl::opt<bool>*>(option)->getValue();
}

bool reduces_strength() { return !value_of("disable-lsr"); }

TEST(PassOptions, X86KernelsGoWithoutEight) {
  const PassOptions options(Passes::ForX86Kernels);
  for (const char* without :
       {"disable-lsr", "disable-constant-hoisting", "disable-copyprop", "disable-machine-cse",
        "disable-machine-dce", "disable-machine-sink", "disable-postra-machine-licm"}) {
    EXPECT_TRUE(value_of(without)) << without;
  }
  EXPECT_FALSE(value_of("x86-machine-combiner"));
}

// Else the second program of a process would be compiled with other passes than its first.
TEST(PassOptions, ALinkTakesNoneBack) {
  const ir::Module module = backend_cases().front().module;
  for (int turn = 0; turn < 2; ++turn) {
    {
      const PassOptions options(Passes::ForX86Kernels);
      EXPECT_FALSE(reduces_strength());
    }
    ASSERT_TRUE(backend::cpu_llvm::make_image(module, native_target()).ok());
    EXPECT_TRUE(reduces_strength()) << "of a link, with nobody's wishes left";
  }
}

TEST(PassOptions, WithoutAWishTheyAreLlvms) {
  {
    const PassOptions options(Passes::ForX86Kernels);
  }
  const PassOptions as_llvm_has_them;
  EXPECT_TRUE(reduces_strength());
  EXPECT_FALSE(value_of("disable-machine-cse"));
  EXPECT_TRUE(value_of("x86-machine-combiner"));
}

}  // namespace
}  // namespace fettle::testing
