// PassOptions: what LLVM's pipelines of code generation are told by globals only. lld, which links
// in this process, sets all of those back to LLVM's own choice.
#pragma once

#include <mutex>

namespace fettle::backend::llvm_emit {

// While it lives nobody else makes a pipeline, nor links. What is made has these options, also
// when it runs later. Not twice in one thread.
class PassOptions {
 public:
  // As LLVM has them.
  PassOptions();
  // strength_reduction: of addresses in loops (LLVM's LSR), a quarter of a build's time. The
  // emitter's own addresses are as good for x86's ways to address memory: ResNet-18's best kernels
  // run as fast without it. Cores that go in order, and ARMv7's loads, are better off with it.
  explicit PassOptions(bool strength_reduction);

 private:
  std::lock_guard<std::mutex> lock_;
};

}  // namespace fettle::backend::llvm_emit
