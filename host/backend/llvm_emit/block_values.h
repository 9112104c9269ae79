// BlockValues: what a block has computed and its later statements need not make again. LLVM would
// find it too, after each copy has gone through all passes in front of the one that does: of an
// unrolled tile's loads most are copies.
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
  // base + bytes
  llvm::Value*& address(llvm::BasicBlock* in, llvm::Value* base, std::int64_t bytes) {
    return addresses_[{in, base, bytes}];
  }
  // What the buffer holds at `from`, until forget() hears that it was written.
  llvm::Value*& load(llvm::BasicBlock* in, const ir::BufferDecl& buffer, llvm::Value* from,
                     llvm::Type* type) {
    return loads_[&buffer][{in, from, type}];
  }
  // The scalar in so many lanes.
  llvm::Value*& copies(llvm::BasicBlock* in, llvm::Value* scalar, int lanes) {
    return copies_[{in, scalar, lanes}];
  }

  void forget(const ir::BufferDecl& written) { loads_.erase(&written); }

 private:
  template <typename... Of>
  using Places = std::map<std::tuple<llvm::BasicBlock*, llvm::Value*, Of...>, llvm::Value*>;
  Places<std::int64_t> addresses_;
  std::map<const ir::BufferDecl*, Places<llvm::Type*>> loads_;
  Places<int> copies_;
};

}  // namespace fettle::backend::llvm_emit
