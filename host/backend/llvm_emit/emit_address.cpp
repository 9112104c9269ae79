// FunctionEmitter, sixth part: addresses as sums that grow loop by loop.
#include "host/backend/llvm_emit/function_emitter.h"

#include <algorithm>

namespace fettle::backend::llvm_emit {

// base + leaf * bytes, where the leaf's value is there for the first time: in front of the
// outermost loop around the statement at hand that does not change it.
llvm::Value* FunctionEmitter::moved(llvm::Value* base, const ir::Expr& leaf, std::int64_t bytes) {
  const auto* ref = std::get_if<ir::VarRef>(&leaf->node);
  const auto depth = static_cast<std::size_t>(depth_of(leaf));
  Loop* const inside =
      options_.shares_addresses && depth < loops_.size() ? &loops_[depth] : nullptr;
  Loop* const own = options_.shares_addresses && ref && !inside && !loops_.empty() &&
                            loops_.back().innermost && loops_.back().var == ref->var.get()
                        ? &loops_.back()
                        : nullptr;
  const auto offset = [&]() -> llvm::Value* {
    return builder_.CreateNSWMul(index(leaf), llvm::ConstantInt::getSigned(index_type_, bytes));
  };
  if (own) {
    llvm::Value*& known = own->known[{base, ref->var.get(), bytes}];
    if (!known) known = running(*own, base, bytes);
    return known;
  }
  if (!inside) return builder_.CreatePtrAdd(base, offset());
  llvm::Value* unnamed = nullptr;
  llvm::Value*& known = ref ? inside->known[{base, ref->var.get(), bytes}] : unnamed;
  if (!known) {
    const llvm::IRBuilderBase::InsertPointGuard back(builder_);
    builder_.SetInsertPoint(inside->entry);
    known = builder_.CreatePtrAdd(base, offset());
  }
  return known;
}

// A pointer that goes with the loop's variable.
llvm::Value* FunctionEmitter::running(Loop& loop, llvm::Value* base, std::int64_t bytes) {
  const llvm::IRBuilderBase::InsertPointGuard back(builder_);
  builder_.SetInsertPoint(loop.entry);
  llvm::Value* first = base;
  if (const auto* low = llvm::dyn_cast<llvm::Constant>(loop.low); !low || !low->isNullValue()) {
    llvm::Value* bytes_before = llvm::ConstantInt::getSigned(index_type_, bytes);
    first = builder_.CreatePtrAdd(base, builder_.CreateNSWMul(loop.low, bytes_before));
  }
  builder_.SetInsertPoint(loop.head, loop.head->begin());
  llvm::PHINode* pointer = builder_.CreatePHI(first->getType(), 2);
  pointer->addIncoming(first, loop.entry->getParent());
  loop.running.emplace_back(pointer, bytes);
  return pointer;
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
  ir::LeafSum sum = terms_of(scalar_index);
  sum.constant += more_elements;
  std::uint64_t bits = buffer->alignment | static_cast<std::uint64_t>(sum.constant * bytes);
  // The variable of the innermost loop before others of the loop: its pointer begins outside.
  const auto goes_along = [&](const auto& term) {
    const auto* ref = std::get_if<ir::VarRef>(&term.first->node);
    return ref && !loops_.empty() && loops_.back().var == ref->var.get();
  };
  const auto outside = [&](const auto& term) { return depth_of(term.first) < depth_; };
  std::stable_partition(std::find_if_not(sum.terms.begin(), sum.terms.end(), outside),
                        sum.terms.end(), goes_along);
  llvm::Value* at = found->second;
  for (const auto& [leaf, factor] : sum.terms) {
    at = moved(at, leaf, factor * bytes);
    bits |= static_cast<std::uint64_t>(factor * bytes);
  }
  if (sum.constant != 0) {
    const std::int64_t more = sum.constant * bytes;
    llvm::Value*& known = made_.address(builder_.GetInsertBlock(), at, more);
    if (!known) known = builder_.CreatePtrAdd(at, llvm::ConstantInt::getSigned(index_type_, more));
    at = known;
  }
  alignment = llvm::Align(bits & (~bits + 1));
  return at;
}

}  // namespace fettle::backend::llvm_emit
