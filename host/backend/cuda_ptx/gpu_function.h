// A function of a GPU: a kernel whose parameters are the function's, by address.
#pragma once

#include "host/backend/llvm_emit/function_emitter.h"
#include "host/lower/gpu/launch_shape.h"

namespace fettle::backend::cuda_ptx {

class GpuFunction final : public llvm_emit::FunctionEmitter {
 public:
  GpuFunction(llvm::Module& module, const ir::Function& function, llvm_emit::EmitOptions options);

  // Makes void NAME(pointers to global memory), for blocks of the launch's shape.
  Result<void> emit() override;

 private:
  using FunctionEmitter::emit;
  void emit_bound(const ir::For& loop) override;
  llvm::Value* shared_array(const ir::BufferDecl& buffer) override;
  void emit_barrier() override;

  lower::LaunchShape shape_;
};

}  // namespace fettle::backend::cuda_ptx
