// A function of a CPU: an entry that the agent calls for a range of the parallel loop.
#pragma once

#include "host/backend/llvm_emit/function_emitter.h"

namespace fettle::backend::cpu_llvm {

class CpuFunction final : public llvm_emit::FunctionEmitter {
 public:
  using FunctionEmitter::FunctionEmitter;

  // Makes void NAME(args, begin, end, thread), which loads the parameters and calls
  // the body, whose parameters are noalias.
  Result<void> emit() override;

 private:
  using FunctionEmitter::emit;
  void emit_body(llvm::Function* body);
};

}  // namespace fettle::backend::cpu_llvm
