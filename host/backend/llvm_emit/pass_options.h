// PassOptions: what LLVM's pipelines of code generation are told by globals only. lld, which links
// in this process, sets all of those back to LLVM's own choice.
#pragma once

#include <mutex>

namespace fettle::backend::llvm_emit {

enum class Passes {
  AsLlvmHasThem,
  // Without what gains our kernels nothing on x86. LSR is a quarter of a build's time: the
  // emitter's own addresses are as good for x86's ways to address memory, and ResNet-18's best
  // kernels run as fast without it. Seven others (pass_options.cpp) are another fifteenth, and
  // change one of the densest loops of 240 random programs, with a sixth to a quarter fewer
  // accesses to the stack around them. Cores that go in order, and ARMv7's loads, are better off
  // with all of them.
  ForX86Kernels
};

// While it lives nobody else makes a pipeline, nor links. What is made has these options, also
// when it runs later. Not twice in one thread.
class PassOptions {
 public:
  explicit PassOptions(Passes passes = Passes::AsLlvmHasThem);

 private:
  std::lock_guard<std::mutex> lock_;
};

}  // namespace fettle::backend::llvm_emit
