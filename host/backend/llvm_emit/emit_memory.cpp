// FunctionEmitter, third part: indices, loads and stores.
#include "host/backend/llvm_emit/function_emitter.h"

#include <algorithm>

namespace fettle::backend::llvm_emit {

// Terms of the index, those of the outermost loops first.
ir::LeafSum FunctionEmitter::terms_of(const ir::Expr& expr) const {
  ir::LeafSum sum = ir::leaf_sum_of(expr);
  std::stable_sort(sum.terms.begin(), sum.terms.end(), [&](const auto& a, const auto& b) {
    return depth_of(a.first) < depth_of(b.first);
  });
  return sum;
}

// A scalar integer in the pointer's width.
llvm::Value* FunctionEmitter::index(const ir::Expr& expr) {
  const ir::LeafSum sum = terms_of(expr);
  llvm::Value* total = nullptr;
  for (const auto& [leaf, factor] : sum.terms) {
    llvm::Value* term = nullptr;
    if (const auto* ref = std::get_if<ir::VarRef>(&leaf->node)) {
      auto found = variables_.find(ref->var.get());
      if (found != variables_.end()) term = found->second.index;
    }
    if (term == nullptr) term = builder_.CreateSExtOrTrunc(value(leaf), index_type_);
    if (factor != 1) {
      term = builder_.CreateNSWMul(term, llvm::ConstantInt::getSigned(index_type_, factor));
    }
    total = total == nullptr ? term : builder_.CreateNSWAdd(total, term);
  }
  llvm::Value* constant = llvm::ConstantInt::getSigned(index_type_, sum.constant);
  if (total == nullptr) return constant;
  return sum.constant == 0 ? total : builder_.CreateNSWAdd(total, constant);
}

// One address per lane, for gathers and scatters.
llvm::Value* FunctionEmitter::addresses(const ir::Buffer& buffer, const ir::Expr& vector_index) {
  llvm::Align ignored;
  llvm::Value* base = address(buffer, ir::int_imm(0), 0, ignored);
  const int lanes = vector_index->type.lanes;
  llvm::Value* lane_index = nullptr;
  auto* wide = llvm::FixedVectorType::get(index_type_, static_cast<unsigned>(lanes));
  if (const std::optional<ir::Strided> form = ir::strided_lanes(vector_index)) {
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

llvm::GlobalVariable* FunctionEmitter::zeros(llvm::Type* type) {
  const std::uint64_t bytes = module_.getDataLayout().getTypeStoreSize(type);
  const std::string name = "zeros." + std::to_string(bytes);
  llvm::GlobalVariable* found = module_.getNamedGlobal(name);
  if (found == nullptr) {
    llvm::Type* all = llvm::ArrayType::get(builder_.getInt8Ty(), bytes);
    found = new llvm::GlobalVariable(module_, all, /*isConstant=*/true,
                                     llvm::GlobalValue::PrivateLinkage,
                                     llvm::Constant::getNullValue(all), name);
    found->setAlignment(llvm::Align(llvm::PowerOf2Ceil(bytes)));
  }
  return found;
}

llvm::Value* FunctionEmitter::from_memory(ir::DataType type, llvm::Value* value) {
  if (!type.is_bool()) return value;
  return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

llvm::Value* FunctionEmitter::to_memory(ir::DataType type, llvm::Value* value) {
  return type.is_bool() ? builder_.CreateZExt(value, memory_type(type)) : value;
}

// Of a buffer that comes as a parameter: once in a block. (Others are registers soon.)
llvm::Value* FunctionEmitter::loaded(const ir::Buffer& buffer, llvm::Type* type, llvm::Value* from,
                                     llvm::Align alignment) {
  if (buffer->scope != ir::Scope::Global) return builder_.CreateAlignedLoad(type, from, alignment);
  llvm::Value*& known = made_.load(builder_.GetInsertBlock(), *buffer, from, type);
  if (!known) known = builder_.CreateAlignedLoad(type, from, alignment);
  return known;
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
      return from_memory(node.type, loaded(load.buffer, in_memory, from, alignment));
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
  const std::optional<ir::Strided> form = ir::strided_lanes(at);
  if (form && form->stride == 1) {
    llvm::Value* from = address(load.buffer, form->base, 0, alignment);
    const auto* one = on ? std::get_if<ir::Broadcast>(&load.predicate->node) : nullptr;
    // All lanes or none: read elsewhere instead. A masked load is no choice: where what it leaves
    // out lies on no page that is there, a CPU takes hundreds of cycles to find that out.
    if (one && options_.holds_constants) {
      llvm::GlobalVariable* zero = zeros(in_memory);
      llvm::Value* safe = builder_.CreateSelect(value(one->value), from, zero);
      alignment = std::min(alignment, zero->getAlign().valueOrOne());
      return from_memory(node.type, builder_.CreateAlignedLoad(in_memory, safe, alignment));
    }
    if (one && load.buffer->elements() >= node.type.lanes) {
      const auto found = buffers_.find(load.buffer.get());
      llvm::Value* all = value(one->value);
      llvm::Value* safe = builder_.CreateSelect(all, from, found->second);
      llvm::Value* got = builder_.CreateAlignedLoad(in_memory, safe, alignment);
      return from_memory(node.type, builder_.CreateSelect(all, got, off));
    }
    llvm::Value* got = on == nullptr
                           ? loaded(load.buffer, in_memory, from, alignment)
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
    return from_memory(node.type,
                       broadcast(loaded(load.buffer, one, from, alignment), node.type.lanes));
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
  made_.forget(*store.buffer);
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
  const std::optional<ir::Strided> form = ir::strided_lanes(at);
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

}  // namespace fettle::backend::llvm_emit
