// GpuFunction, second part: copies from global to shared memory that go on beside the threads,
// cp.async of compute capability 8.0 on.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "host/backend/cuda_ptx/gpu_function.h"

namespace fettle::backend::cuda_ptx {
namespace {

// By bytes; those with a suffix read fewer and fill up with zeros.
llvm::Intrinsic::ID copy_of(std::int64_t bytes) {
  switch (bytes) {
    case 4:
      return llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4_s;
    case 8:
      return llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8_s;
    case 16:
      return llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16_s;
    default:
      return llvm::Intrinsic::not_intrinsic;
  }
}

// The first of neighbouring elements; null: they lie apart.
ir::Expr first_of(const ir::Expr& index) {
  if (index->type.lanes == 1) return index;
  const auto form = ir::strided_lanes(index);
  return form && form->stride == 1 ? form->base : nullptr;
}

}  // namespace

void GpuFunction::emit(const ir::AsyncCopies& copies) {
  copies_ = true;
  FunctionEmitter::emit(copies.body);
  copies_ = false;
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
}

void GpuFunction::emit(const ir::AwaitCopies& wait) {
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {},
                           {builder_.getInt32(static_cast<std::uint32_t>(wait.left))});
}

// What is computed, or lies in pieces, is stored by the thread itself, at once.
void GpuFunction::emit(const ir::Store& store) {
  if (copies_ && store.buffer->scope == ir::Scope::BlockShared && copied(store)) return;
  FunctionEmitter::emit(store);
}

bool GpuFunction::copied(const ir::Store& store) {
  const auto* bits = std::get_if<ir::Reinterpret>(&store.value->node);
  const ir::Expr& value = bits ? bits->value : store.value;
  const auto* load = std::get_if<ir::Load>(&value->node);
  if (!load || load->buffer->scope != ir::Scope::Global || store.predicate ||
      load->indices.size() != 1 || store.indices.size() != 1 || value->type.is_bool()) {
    return false;
  }
  const std::int64_t bytes = std::int64_t{value->type.lanes} * value->type.bytes();
  const ir::Expr from_index = first_of(load->indices[0]), to_index = first_of(store.indices[0]);
  ir::Expr on = load->predicate;
  if (on && on->type.lanes > 1) {
    const auto* all = std::get_if<ir::Broadcast>(&on->node);
    if (!all) return false;
    on = all->value;
  }
  if (copy_of(bytes) == llvm::Intrinsic::not_intrinsic || !from_index || !to_index) return false;
  llvm::Align from_alignment, to_alignment;
  llvm::Value* from = address(load->buffer, from_index, 0, from_alignment);
  llvm::Value* to = address(store.buffer, to_index, 0, to_alignment);
  const auto size = static_cast<std::uint64_t>(bytes);
  if (from_alignment.value() < size || to_alignment.value() < size || error_) return false;
  llvm::Value* reads = builder_.getInt32(static_cast<std::uint32_t>(bytes));
  if (on) {
    llvm::Value* there = this->value(on);
    reads = builder_.CreateSelect(there, reads, builder_.getInt32(0));
    // An address that is good, though nothing is read.
    from = builder_.CreateSelect(there, from, buffers_.at(load->buffer.get()));
  }
  builder_.CreateIntrinsic(copy_of(bytes), {}, {to, from, reads});
  return true;
}

}  // namespace fettle::backend::cuda_ptx
