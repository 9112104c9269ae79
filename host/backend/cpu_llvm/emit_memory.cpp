// FunctionEmitter, third part: indices, addresses, loads and stores.
#include "host/backend/cpu_llvm/function_emitter.h"

#include <algorithm>

namespace fettle::backend::cpu_llvm {

// A scalar integer in the pointer's width.
llvm::Value* FunctionEmitter::index(const ir::Expr& expr) {
  Linear sum;
  add_terms(expr, 1, sum);
  std::stable_sort(sum.terms.begin(), sum.terms.end(),
                   [](const Term& a, const Term& b) { return a.depth < b.depth; });
  llvm::Value* total = nullptr;
  for (const Term& term : sum.terms) {
    llvm::Value* leaf = nullptr;
    if (const auto* ref = std::get_if<ir::VarRef>(&term.leaf->node)) {
      auto found = variables_.find(ref->var.get());
      if (found != variables_.end()) leaf = found->second.index;
    }
    if (leaf == nullptr) leaf = builder_.CreateSExtOrTrunc(value(term.leaf), index_type_);
    if (term.factor != 1) {
      leaf = builder_.CreateNSWMul(leaf, llvm::ConstantInt::getSigned(index_type_, term.factor));
    }
    total = total == nullptr ? leaf : builder_.CreateNSWAdd(total, leaf);
  }
  llvm::Value* constant = llvm::ConstantInt::getSigned(index_type_, sum.constant);
  if (total == nullptr) return constant;
  return sum.constant == 0 ? total : builder_.CreateNSWAdd(total, constant);
}

void FunctionEmitter::add_terms(const ir::Expr& expr, std::int64_t factor, Linear& out) const {
  if (const std::int64_t* constant = ir::as_int(expr)) {
    out.constant += *constant * factor;
    return;
  }
  if (const auto* binary = std::get_if<ir::Binary>(&expr->node)) {
    if (binary->op == ir::BinaryOp::Add || binary->op == ir::BinaryOp::Sub) {
      add_terms(binary->a, factor, out);
      add_terms(binary->b, binary->op == ir::BinaryOp::Add ? factor : -factor, out);
      return;
    }
    if (binary->op == ir::BinaryOp::Mul) {
      if (const std::int64_t* right = ir::as_int(binary->b))
        return add_terms(binary->a, factor * *right, out);
      if (const std::int64_t* left = ir::as_int(binary->a))
        return add_terms(binary->b, factor * *left, out);
    }
  }
  if (const auto* ref = std::get_if<ir::VarRef>(&expr->node)) {
    for (Term& term : out.terms) {
      const auto* other = std::get_if<ir::VarRef>(&term.leaf->node);
      if (other != nullptr && other->var == ref->var) {
        term.factor += factor;
        return;
      }
    }
  }
  out.terms.push_back({expr, factor, depth_of(expr)});
}

// base + stride * lane, when the vector index has that form.
std::optional<FunctionEmitter::RampForm> FunctionEmitter::as_ramp(const ir::Expr& expr) const {
  if (const auto* ramp = std::get_if<ir::Ramp>(&expr->node))
    return RampForm{ramp->base, ramp->stride};
  if (const auto* copies = std::get_if<ir::Broadcast>(&expr->node))
    return RampForm{copies->value, 0};
  if (const std::int64_t* constant = ir::as_int(expr)) {
    return RampForm{ir::int_imm(*constant, expr->type.element()), 0};
  }
  const auto* binary = std::get_if<ir::Binary>(&expr->node);
  if (binary == nullptr) return std::nullopt;
  std::optional<RampForm> a = as_ramp(binary->a), b = as_ramp(binary->b);
  if (!a || !b) return std::nullopt;
  switch (binary->op) {
    case ir::BinaryOp::Add:
      return RampForm{a->base + b->base, a->stride + b->stride};
    case ir::BinaryOp::Sub:
      return RampForm{a->base - b->base, a->stride - b->stride};
    case ir::BinaryOp::Mul:
      if (b->stride == 0 && ir::as_int(b->base))
        return RampForm{a->base * b->base, a->stride * *ir::as_int(b->base)};
      if (a->stride == 0 && ir::as_int(a->base))
        return RampForm{a->base * b->base, b->stride * *ir::as_int(a->base)};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// &buffer[index + more_elements]; alignment: what the terms prove.
llvm::Value* FunctionEmitter::address(const ir::Buffer& buffer, const ir::Expr& scalar_index,
                                      std::int64_t more_elements, llvm::Align& alignment) {
  auto found = buffers_.find(buffer.get());
  if (found == buffers_.end()) {
    fail("buffer " + buffer->name + " is neither a parameter nor allocated");
    return llvm::PoisonValue::get(builder_.getPtrTy());
  }
  const std::int64_t bytes = buffer->type.bytes();
  Linear sum;
  add_terms(scalar_index, 1, sum);
  sum.constant += more_elements;
  std::stable_sort(sum.terms.begin(), sum.terms.end(),
                   [](const Term& a, const Term& b) { return a.depth < b.depth; });
  std::uint64_t bits = buffer->alignment | static_cast<std::uint64_t>(sum.constant * bytes);
  llvm::Value* at = found->second;
  for (const Term& term : sum.terms) {
    if (term.factor == 0) continue;
    llvm::Value* offset = index(term.leaf);
    offset = builder_.CreateNSWMul(offset,
                                   llvm::ConstantInt::getSigned(index_type_, term.factor * bytes));
    at = builder_.CreatePtrAdd(at, offset);
    bits |= static_cast<std::uint64_t>(term.factor * bytes);
  }
  if (sum.constant != 0) {
    at = builder_.CreatePtrAdd(at, llvm::ConstantInt::getSigned(index_type_, sum.constant * bytes));
  }
  alignment = llvm::Align(bits & (~bits + 1));
  return at;
}

// One address per lane, for gathers and scatters.
llvm::Value* FunctionEmitter::addresses(const ir::Buffer& buffer, const ir::Expr& vector_index) {
  llvm::Align ignored;
  llvm::Value* base = address(buffer, ir::int_imm(0), 0, ignored);
  const int lanes = vector_index->type.lanes;
  llvm::Value* lane_index = nullptr;
  auto* wide = llvm::FixedVectorType::get(index_type_, static_cast<unsigned>(lanes));
  if (std::optional<RampForm> form = as_ramp(vector_index)) {
    std::vector<llvm::Constant*> steps;
    for (int lane = 0; lane < lanes; ++lane) {
      steps.push_back(llvm::ConstantInt::getSigned(index_type_, lane * form->stride));
    }
    lane_index = builder_.CreateNSWAdd(broadcast(index(form->base), lanes),
                                       llvm::ConstantVector::get(steps));
  } else {
    lane_index = builder_.CreateSExtOrTrunc(value(vector_index), wide);
  }
  return builder_.CreateGEP(memory_type(buffer->type.element()), base, lane_index);
}

llvm::Value* FunctionEmitter::mask(const ir::Expr& predicate) {
  if (predicate == nullptr) return nullptr;
  llvm::Value* lanes = value(predicate);
  auto* constant = llvm::dyn_cast<llvm::Constant>(lanes);
  return constant != nullptr && constant->isAllOnesValue() ? nullptr : lanes;
}

llvm::Value* FunctionEmitter::from_memory(ir::DataType type, llvm::Value* value) {
  if (!type.is_bool()) return value;
  return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

llvm::Value* FunctionEmitter::to_memory(ir::DataType type, llvm::Value* value) {
  return type.is_bool() ? builder_.CreateZExt(value, memory_type(type)) : value;
}

llvm::Value* FunctionEmitter::load(const ir::ExprNode& node, const ir::Load& load) {
  if (auto made = transposed_.find(&node); made != transposed_.end()) {
    return from_memory(node.type, made->second);
  }
  llvm::Type* in_memory = memory_type(node.type);
  llvm::Value* off = llvm::Constant::getNullValue(in_memory);
  if (load.indices.size() != 1) {
    fail("a load of " + load.buffer->name + " has not one flat index");
    return llvm::PoisonValue::get(type(node.type));
  }
  const ir::Expr& at = load.indices[0];
  llvm::Value* on = mask(load.predicate);
  llvm::Align alignment;
  if (node.type.lanes == 1) {
    if (on == nullptr) {
      llvm::Value* from = address(load.buffer, at, 0, alignment);
      return from_memory(node.type, builder_.CreateAlignedLoad(in_memory, from, alignment));
    }
    llvm::BasicBlock* read = block("load");
    llvm::BasicBlock* end = block("loaded");
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    builder_.CreateCondBr(on, read, end);
    builder_.SetInsertPoint(read);
    llvm::Value* from = address(load.buffer, at, 0, alignment);
    llvm::Value* got = builder_.CreateAlignedLoad(in_memory, from, alignment);
    llvm::BasicBlock* after = builder_.GetInsertBlock();
    builder_.CreateBr(end);
    builder_.SetInsertPoint(end);
    llvm::PHINode* result = builder_.CreatePHI(in_memory, 2);
    result->addIncoming(off, before);
    result->addIncoming(got, after);
    return from_memory(node.type, result);
  }
  std::optional<RampForm> form = as_ramp(at);
  if (form && form->stride == 1) {
    llvm::Value* from = address(load.buffer, form->base, 0, alignment);
    const auto* one = on ? std::get_if<ir::Broadcast>(&load.predicate->node) : nullptr;
    if (one && !options_.has_masks && load.buffer->elements() >= node.type.lanes) {
      // All lanes or none: a load from the buffer's begin instead, whose value is not used.
      const auto found = buffers_.find(load.buffer.get());
      llvm::Value* all = value(one->value);
      llvm::Value* safe = builder_.CreateSelect(all, from, found->second);
      llvm::Value* got = builder_.CreateAlignedLoad(in_memory, safe, alignment);
      return from_memory(node.type, builder_.CreateSelect(all, got, off));
    }
    llvm::Value* got =
        on == nullptr
            ? static_cast<llvm::Value*>(builder_.CreateAlignedLoad(in_memory, from, alignment))
            : builder_.CreateMaskedLoad(in_memory, from, alignment, on, off);
    return from_memory(node.type, got);
  }
  if (on != nullptr) {
    const llvm::Align element(static_cast<std::uint64_t>(load.buffer->type.bytes()));
    return from_memory(node.type, builder_.CreateMaskedGather(in_memory, addresses(load.buffer, at),
                                                              element, on, off));
  }
  llvm::Type* one = memory_type(node.type.element());
  if (form && form->stride == 0) {
    llvm::Value* from = address(load.buffer, form->base, 0, alignment);
    return from_memory(
        node.type, broadcast(builder_.CreateAlignedLoad(one, from, alignment), node.type.lanes));
  }
  if (!form) {
    if (llvm::Value* made = load_permuted(node, load)) return made;
  }
  llvm::Value* result = llvm::PoisonValue::get(in_memory);
  llvm::Value* lanes = form ? nullptr : addresses(load.buffer, at);
  for (int lane = 0; lane < node.type.lanes; ++lane) {
    llvm::Value* from = nullptr;
    if (form) {
      from = address(load.buffer, form->base, lane * form->stride, alignment);
    } else {
      from = builder_.CreateExtractElement(lanes, static_cast<std::uint64_t>(lane));
      alignment = llvm::Align(static_cast<std::uint64_t>(load.buffer->type.bytes()));
    }
    result = builder_.CreateInsertElement(result, builder_.CreateAlignedLoad(one, from, alignment),
                                          static_cast<std::uint64_t>(lane));
  }
  return from_memory(node.type, result);
}

void FunctionEmitter::emit(const ir::Store& store) {
  if (store.indices.size() != 1)
    return fail("a store to " + store.buffer->name + " has not one flat index");
  const ir::Expr& at = store.indices[0];
  const ir::DataType stored = store.value->type;
  llvm::Value* what = to_memory(stored, value(store.value));
  llvm::Value* on = mask(store.predicate);
  if (error_) return;
  llvm::Align alignment;
  if (stored.lanes == 1) {
    llvm::BasicBlock* end = nullptr;
    if (on != nullptr) {
      llvm::BasicBlock* write = block("store");
      end = block("stored");
      builder_.CreateCondBr(on, write, end);
      builder_.SetInsertPoint(write);
    }
    llvm::Value* to = address(store.buffer, at, 0, alignment);
    builder_.CreateAlignedStore(what, to, alignment);
    if (end != nullptr) {
      builder_.CreateBr(end);
      builder_.SetInsertPoint(end);
    }
    return;
  }
  std::optional<RampForm> form = as_ramp(at);
  if (form && form->stride == 1) {
    llvm::Value* to = address(store.buffer, form->base, 0, alignment);
    if (on == nullptr) {
      builder_.CreateAlignedStore(what, to, alignment);
    } else {
      builder_.CreateMaskedStore(what, to, alignment, on);
    }
    return;
  }
  const llvm::Align element(static_cast<std::uint64_t>(store.buffer->type.bytes()));
  if (on != nullptr) {
    builder_.CreateMaskedScatter(what, addresses(store.buffer, at), element, on);
    return;
  }
  llvm::Value* lanes = form ? nullptr : addresses(store.buffer, at);
  for (int lane = 0; lane < stored.lanes; ++lane) {
    alignment = element;
    llvm::Value* to = form ? address(store.buffer, form->base, lane * form->stride, alignment)
                           : builder_.CreateExtractElement(lanes, static_cast<std::uint64_t>(lane));
    builder_.CreateAlignedStore(
        builder_.CreateExtractElement(what, static_cast<std::uint64_t>(lane)), to, alignment);
  }
}

}  // namespace fettle::backend::cpu_llvm
