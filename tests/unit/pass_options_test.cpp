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

bool reduces_strength() {
  const llvm::cl::Option* without = llvm::cl::getRegisteredOptions().lookup("disable-lsr");
  if (!without) std::abort();  // this LLVM has no such option: x86 would be built with it
  return !static_cast<const llvm::cl::opt<bool>*>(without)->getValue();
}

// Else the second program of a process would be compiled with other passes than its first.
TEST(PassOptions, ALinkTakesNoneBack) {
  const ir::Module module = backend_cases().front().module;
  for (int turn = 0; turn < 2; ++turn) {
    {
      const backend::llvm_emit::PassOptions options(false);
      EXPECT_FALSE(reduces_strength());
    }
    ASSERT_TRUE(backend::cpu_llvm::make_image(module, native_target()).ok());
    EXPECT_TRUE(reduces_strength()) << "of a link, with nobody's wishes left";
  }
}

TEST(PassOptions, WithoutAWishTheyAreLlvms) {
  {
    const backend::llvm_emit::PassOptions options(false);
  }
  const backend::llvm_emit::PassOptions as_llvm_has_them;
  EXPECT_TRUE(reduces_strength());
}

}  // namespace
}  // namespace fettle::testing
