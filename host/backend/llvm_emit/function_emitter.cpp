// FunctionEmitter, first part: the statements (function_emitter.h).
#include "host/backend/llvm_emit/function_emitter.h"

#include "host/ir/visit.h"

namespace fettle::backend::llvm_emit {
namespace {

// A loop that will be one: not of a single iteration.
bool is_loop(const ir::For& loop) {
  const std::int64_t* extent = ir::as_int(loop.extent);
  return !extent || *extent > 1;
}

bool holds_loop(const ir::Stmt& stmt) {
  const auto* loop = std::get_if<ir::For>(&stmt->node);
  if (loop && is_loop(*loop)) return true;
  bool found = false;
  ir::for_each_part(
      stmt, [&](const ir::Stmt& part) { found = found || holds_loop(part); },
      [](const ir::Expr&) {});
  return found;
}

}  // namespace

FunctionEmitter::FunctionEmitter(llvm::Module& module, const ir::Function& function,
                                 EmitOptions options)
    : module_(module),
      context_(module.getContext()),
      function_(function),
      options_(options),
      builder_(context_),
      index_type_(module.getDataLayout().getIntPtrType(context_)),
      made_(options.shares_addresses) {
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

void FunctionEmitter::emit_bound(const ir::For& loop) {
  fail("loop " + loop.var->name + " is not serial after lowering");
}

llvm::Value* FunctionEmitter::shared_array(const ir::BufferDecl& buffer) {
  fail("allocation of " + buffer.name + " is not one thread's");
  return nullptr;
}

void FunctionEmitter::emit_barrier() { fail("a barrier: a CPU has no blocks of threads"); }

void FunctionEmitter::emit(const ir::TileCall& call) {
  fail(std::string("no threads go together for ") + call.row->name);
}

void FunctionEmitter::emit(const ir::AsyncCopies&) { fail("copies beside the threads"); }
void FunctionEmitter::emit(const ir::AwaitCopies&) { fail("copies beside the threads"); }

void FunctionEmitter::describe_parameter(llvm::Function& function, unsigned place) const {
  const ir::BufferDecl& buffer = *function_.params[place];
  const std::uint64_t bytes = static_cast<std::uint64_t>(buffer.elements()) *
                              static_cast<std::uint64_t>(buffer.type.bytes());
  function.addParamAttr(place, llvm::Attribute::NoAlias);
  function.addParamAttr(place, llvm::Attribute::NonNull);
  function.addParamAttr(place,
                        llvm::Attribute::getWithAlignment(context_, llvm::Align(buffer.alignment)));
  function.addDereferenceableParamAttr(place, bytes);
  if (!function_.written[place]) function.addParamAttr(place, llvm::Attribute::ReadOnly);
  function.getArg(place)->setName(buffer.name);
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
  if (loop.kind == ir::ForKind::Bound) return emit_bound(loop);
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
  llvm::Instruction* const entry = from->getTerminator();
  builder_.SetInsertPoint(head);
  llvm::PHINode* at = builder_.CreatePHI(index_type_, 2, var->name);
  at->addIncoming(low, from);
  ++depth_;
  llvm::Value* own = builder_.CreateSExtOrTrunc(at, type(var->type));
  variables_[var.get()] = {own, at, depth_, non_negative};
  loops_.push_back({var.get(), entry, head, low, !holds_loop(body), {}, {}});
  emit(body);
  const Loop done = std::move(loops_.back());
  loops_.pop_back();
  --depth_;
  for (const auto& [pointer, bytes] : done.running) {
    llvm::Value* step = llvm::ConstantInt::getSigned(index_type_, bytes);
    pointer->addIncoming(builder_.CreatePtrAdd(pointer, step), builder_.GetInsertBlock());
  }
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
    buffers_[&buffer] = shared_array(buffer);
    return emit(allocate.body);
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

void FunctionEmitter::emit(const ir::Barrier&) { emit_barrier(); }

void FunctionEmitter::emit(const ir::Let& let) {
  Binding binding;
  binding.depth = depth_of(let.value);
  const auto compute = [&] {
    binding.value = value(let.value);
    if (error_) return;
    if (let.var->type.is_int() && let.var->type.lanes == 1) binding.index = index(let.value);
  };
  if (const auto depth = static_cast<std::size_t>(binding.depth);
      options_.shares_addresses && depth < loops_.size()) {
    const llvm::IRBuilderBase::InsertPointGuard back(builder_);
    builder_.SetInsertPoint(loops_[depth].entry);
    compute();
  } else {
    compute();  // perhaps in blocks of its own
  }
  if (error_) return;
  binding.non_negative = non_negative(let.value);
  // Copies of an unrolled body bind one variable to several values.
  if (variables_.contains(let.var.get())) {
    for (Loop& loop : loops_) {
      std::erase_if(loop.known,
                    [&](const auto& at) { return std::get<1>(at.first) == let.var.get(); });
    }
  }
  variables_[let.var.get()] = binding;
  emit(let.body);
}

}  // namespace fettle::backend::llvm_emit
