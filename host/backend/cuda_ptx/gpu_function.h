// A function of a GPU: a kernel whose parameters are the function's, by address.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "host/backend/llvm_emit/function_emitter.h"
#include "host/lower/gpu/launch_shape.h"

namespace fettle::backend::cuda_ptx {

// Of the arrays that a block shares, bytes that the launch states (wire::Launch::shared_bytes):
// all of them where they are more than what a kernel may have of its own, else none.
std::int64_t dynamic_shared_bytes(const lower::LaunchShape& shape);

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
  llvm::Value* dynamic_array(const ir::BufferDecl& buffer);

  // gpu_copies.cpp: copies beside the threads
  void emit(const ir::AsyncCopies& copies) override;
  void emit(const ir::AwaitCopies& wait) override;
  void emit(const ir::Store& store) override;
  bool copied(const ir::Store& store);  // false: it is no plain copy

  // gpu_tiles.cpp: instructions of a warp. A thread's part of a tile, and how it was loaded.
  struct Tile {
    std::vector<llvm::AllocaInst*> registers;
    bool by_columns = false;
    const char* family = "";  // of the row that made it
  };
  void emit(const ir::TileCall& call) override;
  Tile& tile_of(const ir::TileCall& call, std::size_t operand, llvm::Type* type, int registers);
  llvm::Value* rounded_to_tf32(llvm::Value* bits);
  std::vector<llvm::Value*> values_of(const Tile& tile);
  void set(const Tile& tile, llvm::Value* values);

  lower::LaunchShape shape_;
  llvm::GlobalVariable* dynamic_ = nullptr;  // shared memory that the launch states
  std::uint64_t dynamic_used_ = 0;           // bytes of it
  bool copies_ = false;                      // inside of AsyncCopies
  std::map<std::pair<const ir::BufferDecl*, std::int64_t>, Tile> tiles_;  // by their first element
};

}  // namespace fettle::backend::cuda_ptx
