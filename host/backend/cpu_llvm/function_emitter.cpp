// FunctionEmitter, first part: the function's frame and the statements.
#include "host/backend/cpu_llvm/function_emitter.h"

namespace fettle::backend::cpu_llvm {

FunctionEmitter::FunctionEmitter(llvm::Module& module, const ir::Function& function,
                                 EmitOptions options)
    : module_(module),
      context_(module.getContext()),
      function_(function),
      options_(options),
      builder_(context_),
      index_type_(module.getDataLayout().getIntPtrType(context_)) {
  llvm::FastMathFlags flags;
  // No reassociation: equal sources give equal bits on every target with FMA.
  flags.setAllowContract(options.fused);
  builder_.setFastMathFlags(flags);
}

void FunctionEmitter::fail(std::string message) {
  if (!error_) error_ = Error{ErrorCode::Internal, function_.name + ": " + std::move(message)};
}

llvm::BasicBlock* FunctionEmitter::block(const char* name) {
  return llvm::BasicBlock::Create(context_, name, current_);
}

Result<void> FunctionEmitter::emit() {
  llvm::PointerType* pointer = builder_.getPtrTy();
  llvm::IntegerType* i32 = builder_.getInt32Ty();
  const std::size_t count = function_.params.size();
  if (function_.written.size() != count) {
    return Error{ErrorCode::Internal,
                 function_.name + ": `written` has not one entry per parameter"};
  }

  // The body: buffers as noalias parameters, then begin, end, thread.
  std::vector<llvm::Type*> types(count, pointer);
  types.insert(types.end(), 3, i32);
  auto* body =
      llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), types, false),
                             llvm::GlobalValue::InternalLinkage, function_.name + ".body", module_);
  body->addFnAttr(llvm::Attribute::NoUnwind);
  body->addFnAttr(llvm::Attribute::NoInline);
  const std::string width = std::to_string(options_.vector_bits);
  body->addFnAttr("prefer-vector-width", width);
  body->addFnAttr("min-legal-vector-width", width);
  for (std::size_t i = 0; i < count; ++i) {
    const ir::BufferDecl& buffer = *function_.params[i];
    const std::uint64_t bytes = static_cast<std::uint64_t>(buffer.elements()) *
                                static_cast<std::uint64_t>(buffer.type.bytes());
    auto index = static_cast<unsigned>(i);
    body->addParamAttr(index, llvm::Attribute::NoAlias);
    body->addParamAttr(index, llvm::Attribute::NonNull);
    body->addParamAttr(index,
                       llvm::Attribute::getWithAlignment(context_, llvm::Align(buffer.alignment)));
    body->addDereferenceableParamAttr(index, bytes);
    if (!function_.written[i]) body->addParamAttr(index, llvm::Attribute::ReadOnly);
    body->getArg(index)->setName(buffer.name);
    buffers_[&buffer] = body->getArg(index);
  }

  // The entry: void entry(void* const* args, i32 begin, i32 end, i32 thread).
  current_ = llvm::Function::Create(
      llvm::FunctionType::get(builder_.getVoidTy(), {pointer, i32, i32, i32}, false),
      llvm::GlobalValue::ExternalLinkage, function_.name, module_);
  current_->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  current_->addFnAttr(llvm::Attribute::NoUnwind);
  builder_.SetInsertPoint(block("entry"));
  std::vector<llvm::Value*> arguments;
  for (std::size_t i = 0; i < count; ++i) {
    llvm::Value* slot =
        builder_.CreateConstGEP1_32(pointer, current_->getArg(0), static_cast<unsigned>(i));
    arguments.push_back(builder_.CreateLoad(pointer, slot));
  }
  for (unsigned i = 1; i <= 3; ++i) arguments.push_back(current_->getArg(i));
  builder_.CreateCall(body, arguments);
  builder_.CreateRetVoid();

  emit_body(body);
  if (error_) return *error_;
  return {};
}

void FunctionEmitter::emit_body(llvm::Function* body) {
  current_ = body;
  builder_.SetInsertPoint(block("entry"));
  const auto count = static_cast<unsigned>(function_.params.size());
  llvm::Value* begin = builder_.CreateSExt(body->getArg(count), index_type_);
  llvm::Value* end = builder_.CreateSExt(body->getArg(count + 1), index_type_);
  if (function_.thread) {
    llvm::Value* thread = body->getArg(count + 2);
    variables_[function_.thread.get()] = {thread, builder_.CreateSExt(thread, index_type_), 0,
                                          true};
  }
  llvm::BasicBlock* start = block("start");
  builder_.CreateBr(start);
  builder_.SetInsertPoint(start);
  emit_loop(function_.parallel, begin, end, false, true, function_.body);
  builder_.CreateRetVoid();
}

void FunctionEmitter::emit(const ir::Stmt& stmt) {
  shared_.clear();
  if (error_ || stmt == nullptr) return;
  std::visit([this](const auto& node) { emit(node); }, stmt->node);
}

void FunctionEmitter::emit(const ir::Block& all) {
  for (std::span<const ir::Stmt> rest = all.stmts; !rest.empty();) {
    std::size_t done = emit_transposed(rest);
    if (done == 0) emit(rest[done++]);
    rest = rest.subspan(done);
  }
}

void FunctionEmitter::emit(const ir::For& loop) {
  if (loop.kind != ir::ForKind::Serial) {
    return fail("loop " + loop.var->name + " is not serial after lowering");
  }
  const std::int64_t* low = ir::as_int(loop.min);
  const std::int64_t* extent = ir::as_int(loop.extent);
  if (extent != nullptr && *extent <= 0) return;
  const bool from_zero = low != nullptr && *low >= 0;
  if (low != nullptr && extent != nullptr && *extent == 1) {
    llvm::Value* at = llvm::ConstantInt::getSigned(index_type_, *low);
    variables_[loop.var.get()] = {llvm::ConstantInt::getSigned(type(loop.var->type), *low), at,
                                  depth_, from_zero};
    return emit(loop.body);
  }
  llvm::Value* first = index(loop.min);
  llvm::Value* end = builder_.CreateNSWAdd(first, index(loop.extent));
  emit_loop(loop.var, first, end, extent != nullptr, from_zero || non_negative(loop.min),
            loop.body);
}

// A loop in rotated form: a guard where it may be empty, then body and latch.
void FunctionEmitter::emit_loop(const ir::Var& var, llvm::Value* low, llvm::Value* high,
                                bool surely_entered, bool non_negative, const ir::Stmt& body) {
  llvm::BasicBlock* head = block(var->name.c_str());
  llvm::BasicBlock* exit = block("exit");
  llvm::BasicBlock* from = builder_.GetInsertBlock();
  if (surely_entered) {
    builder_.CreateBr(head);
  } else {
    builder_.CreateCondBr(builder_.CreateICmpSLT(low, high), head, exit);
  }
  builder_.SetInsertPoint(head);
  llvm::PHINode* at = builder_.CreatePHI(index_type_, 2, var->name);
  at->addIncoming(low, from);
  ++depth_;
  llvm::Value* own = builder_.CreateSExtOrTrunc(at, type(var->type));
  variables_[var.get()] = {own, at, depth_, non_negative};
  emit(body);
  --depth_;
  llvm::Value* next = builder_.CreateNSWAdd(at, llvm::ConstantInt::get(index_type_, 1));
  at->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, high), head, exit);
  builder_.SetInsertPoint(exit);
}

void FunctionEmitter::emit(const ir::IfThenElse& branch) {
  llvm::Value* condition = value(branch.condition);
  if (error_) return;
  llvm::BasicBlock* then_block = block("then");
  llvm::BasicBlock* end = block("end");
  llvm::BasicBlock* else_block = branch.else_stmt ? block("else") : end;
  builder_.CreateCondBr(condition, then_block, else_block);
  builder_.SetInsertPoint(then_block);
  emit(branch.then_stmt);
  builder_.CreateBr(end);
  if (branch.else_stmt) {
    builder_.SetInsertPoint(else_block);
    emit(branch.else_stmt);
    builder_.CreateBr(end);
  }
  builder_.SetInsertPoint(end);
}

// Every alloca is in the entry block: SROA takes the register tiles apart, and a
// stack buffer inside a loop does not grow the stack.
void FunctionEmitter::emit(const ir::Allocate& allocate) {
  const ir::BufferDecl& buffer = *allocate.buffer;
  if (ir::row_of(buffer.scope).sharing != ir::Sharing::Thread) {
    return fail("allocation of " + buffer.name + " is not one thread's");
  }
  llvm::BasicBlock& entry = current_->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  auto* array = llvm::ArrayType::get(memory_type(buffer.type.element()),
                                     static_cast<std::uint64_t>(buffer.elements()));
  llvm::AllocaInst* slot = at_entry.CreateAlloca(array, nullptr, buffer.name);
  slot->setAlignment(llvm::Align(buffer.alignment));
  buffers_[&buffer] = slot;
  emit(allocate.body);
}

void FunctionEmitter::emit(const ir::Barrier&) {
  fail("a barrier: a CPU has no blocks of threads");
}

void FunctionEmitter::emit(const ir::Let& let) {
  Binding binding;
  binding.value = value(let.value);
  if (error_) return;
  if (let.var->type.is_int() && let.var->type.lanes == 1) binding.index = index(let.value);
  binding.depth = depth_of(let.value);
  binding.non_negative = non_negative(let.value);
  variables_[let.var.get()] = binding;
  emit(let.body);
}

}  // namespace fettle::backend::cpu_llvm
