// A function of a GPU (gpu_function.h).
#include "host/backend/cuda_ptx/gpu_function.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "host/backend/gpu_program.h"

// LLVM's globals have an operator new of their own; with a sanitizer's checks in between GCC 12
// takes their operator delete for another's.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace fettle::backend::cuda_ptx {
namespace {

// Address spaces of NVPTX.
constexpr unsigned kGlobal = 1, kShared = 3;

constexpr std::int64_t kStaticShared = 48 << 10;  // most, on every device
constexpr std::uint64_t kDynamicAlignment = 128;

llvm::Intrinsic::ID register_of(ir::ThreadAxis axis) {
  switch (axis) {
    case ir::ThreadAxis::BlockX:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x;
    case ir::ThreadAxis::BlockY:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y;
    case ir::ThreadAxis::BlockZ:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z;
    case ir::ThreadAxis::ThreadX:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x;
    case ir::ThreadAxis::ThreadY:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y;
    case ir::ThreadAxis::ThreadZ:
      return llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z;
    case ir::ThreadAxis::None:
      break;
  }
  return llvm::Intrinsic::not_intrinsic;
}

}  // namespace

std::int64_t dynamic_shared_bytes(const lower::LaunchShape& shape) {
  return shape.shared_bytes > kStaticShared ? shape.shared_bytes : 0;
}

GpuFunction::GpuFunction(llvm::Module& module, const ir::Function& function,
                         llvm_emit::EmitOptions options)
    : FunctionEmitter(module, function, std::move(options)),
      shape_(lower::launch_shape(function)) {}

Result<void> GpuFunction::emit() {
  const std::size_t count = function_.params.size();
  if (function_.written.size() != count || function_.extent != 1 || function_.thread) {
    return Error{ErrorCode::Internal, function_.name + " is no function of a GPU"};
  }
  std::vector<llvm::Type*> types(count, builder_.getPtrTy(kGlobal));
  current_ =
      llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), types, false),
                             llvm::GlobalValue::ExternalLinkage, kernel_name(function_), module_);
  current_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  current_->addFnAttr(llvm::Attribute::NoUnwind);
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = static_cast<unsigned>(i);
    describe_parameter(*current_, place);
    buffers_[function_.params[i].get()] = current_->getArg(place);
  }
  // How many threads a block has: what registers are shared out by.
  llvm::NamedMDNode* notes = module_.getOrInsertNamedMetadata("nvvm.annotations");
  const auto note = [&](const char* name, std::int64_t number) {
    llvm::Metadata* parts[] = {
        llvm::ValueAsMetadata::get(current_), llvm::MDString::get(context_, name),
        llvm::ConstantAsMetadata::get(builder_.getInt32(static_cast<std::uint32_t>(number)))};
    notes->addOperand(llvm::MDNode::get(context_, parts));
  };
  note("kernel", 1);
  note("maxntidx", shape_.block[0]), note("maxntidy", shape_.block[1]);
  note("maxntidz", shape_.block[2]);

  builder_.SetInsertPoint(block("entry"));
  llvm::BasicBlock* start = block("start");
  builder_.CreateBr(start);
  builder_.SetInsertPoint(start);
  variables_[function_.parallel.get()] = {builder_.getInt32(0),
                                          llvm::ConstantInt::get(index_type_, 0), 0, true};
  FunctionEmitter::emit(function_.body);
  builder_.CreateRetVoid();
  if (error_) return *error_;
  return {};
}

// All iterations at once. Where the launch has more, the others do nothing.
void GpuFunction::emit_bound(const ir::For& loop) {
  const std::int64_t *low = ir::as_int(loop.min), *extent = ir::as_int(loop.extent);
  if (!low || *low != 0 || !extent || loop.axis == ir::ThreadAxis::None) {
    return fail("bound loop " + loop.var->name + " does not begin at 0, or has no extent");
  }
  llvm::CallInst* own = builder_.CreateIntrinsic(register_of(loop.axis), {}, {});
  const std::int64_t size = shape_.along(loop.axis);
  own->addRangeRetAttr(
      llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, std::uint64_t(size))));
  variables_[loop.var.get()] = {own, builder_.CreateZExt(own, index_type_), depth_, true};
  if (*extent >= size) return FunctionEmitter::emit(loop.body);
  if (lower::has_barrier(loop.body)) return fail("a barrier that not all threads come to");
  llvm::BasicBlock* then_block = block("within");
  llvm::BasicBlock* end = block("end");
  builder_.CreateCondBr(
      builder_.CreateICmpULT(own, builder_.getInt32(static_cast<std::uint32_t>(*extent))),
      then_block, end);
  builder_.SetInsertPoint(then_block);
  FunctionEmitter::emit(loop.body);
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
}

llvm::Value* GpuFunction::shared_array(const ir::BufferDecl& buffer) {
  // Its tiles are registers (gpu_tiles.cpp): nothing has its address.
  if (buffer.scope == ir::Scope::Fragment) return llvm::PoisonValue::get(builder_.getPtrTy());
  if (buffer.scope != ir::Scope::BlockShared) {
    fail("a GPU has no memory " + std::string(ir::row_of(buffer.scope).name));
    return nullptr;
  }
  if (dynamic_shared_bytes(shape_) > 0) return dynamic_array(buffer);
  auto* array = llvm::ArrayType::get(memory_type(buffer.type.element()),
                                     static_cast<std::uint64_t>(buffer.elements()));
  auto* global = new llvm::GlobalVariable(module_, array, false, llvm::GlobalValue::InternalLinkage,
                                          llvm::UndefValue::get(array), function_.name + "_shared",
                                          nullptr, llvm::GlobalValue::NotThreadLocal, kShared);
  global->setAlignment(llvm::Align(buffer.alignment));
  return global;
}

// Arrays follow one another, as lower::launch_shape counts them.
llvm::Value* GpuFunction::dynamic_array(const ir::BufferDecl& buffer) {
  if (!dynamic_) {
    auto* bytes = llvm::ArrayType::get(builder_.getInt8Ty(), 0);
    dynamic_ = new llvm::GlobalVariable(module_, bytes, false, llvm::GlobalValue::ExternalLinkage,
                                        nullptr, kernel_name(function_) + "_shared", nullptr,
                                        llvm::GlobalValue::NotThreadLocal, kShared);
    dynamic_->setAlignment(llvm::Align(kDynamicAlignment));
  }
  const std::uint64_t at = llvm::alignTo(dynamic_used_, llvm::Align(buffer.alignment));
  dynamic_used_ = at + static_cast<std::uint64_t>(buffer.elements()) *
                           static_cast<std::uint64_t>(buffer.type.bytes());
  return builder_.CreatePtrAdd(dynamic_, builder_.getInt64(at));
}

void GpuFunction::emit_barrier() {
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
}

}  // namespace fettle::backend::cuda_ptx
