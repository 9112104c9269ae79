// BlockValues: what a block has computed and its later statements need not make again. LLVM would
// find it too, after each copy has gone through the passes in front of the one that does.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Value.h>

#include "host/ir/expr.h"

namespace fettle::backend::llvm_emit {

// A place for each value; null: it is not made yet. Blocks grow at their ends only.
class BlockValues {
 public:
  // keeps: else every place is null, and what is put there forgotten.
  explicit BlockValues(bool keeps) : keeps_(keeps) {}

  // base + bytes
  llvm::Value*& address(llvm::BasicBlock* in, llvm::Value* base, std::int64_t bytes) {
    return keeps_ ? addresses_[{in, base, bytes}] : nowhere();
  }
  // What the buffer holds at `from`, until forget() hears that it was written.
  llvm::Value*& load(llvm::BasicBlock* in, const ir::BufferDecl& buffer, llvm::Value* from,
                     llvm::Type* type) {
    return keeps_ ? loads_[&buffer][{in, from, type}] : nowhere();
  }
  // The scalar in so many lanes.
  llvm::Value*& copies(llvm::BasicBlock* in, llvm::Value* scalar, int lanes) {
    return keeps_ ? copies_[{in, scalar, lanes}] : nowhere();
  }

  void forget(const ir::BufferDecl& written) { loads_.erase(&written); }

 private:
  template <typename... Of>
  using Places = std::map<std::tuple<llvm::BasicBlock*, llvm::Value*, Of...>, llvm::Value*>;
  llvm::Value*& nowhere() { return nowhere_ = nullptr; }

  const bool keeps_;
  llvm::Value* nowhere_ = nullptr;
  Places<std::int64_t> addresses_;
  std::map<const ir::BufferDecl*, Places<llvm::Type*>> loads_;
  Places<int> copies_;
};

}  // namespace fettle::backend::llvm_emit
