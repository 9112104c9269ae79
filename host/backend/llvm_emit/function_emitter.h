// FunctionEmitter: what every back end that goes by LLVM has in common: statements and values of
// an ir::Function as LLVM IR. Each makes the function around them and says what its threads,
// their memory and their barriers are.
//
// Index arithmetic is done in the pointer's width and without wrap-around: an
// index is a sum of terms (leaf times constant) plus a constant, and the terms
// are added outermost loop first, each in front of the loops that do not change it, so
// that what accesses share is made once and the constant ends in the instruction's displacement.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "host/backend/llvm_emit/block_values.h"
#include "host/ir/affine.h"
#include "host/ir/intrinsics.h"
#include "host/ir/module.h"
#include "schemas/wire/result.h"

namespace fettle::backend::llvm_emit {

struct EmitOptions {
  bool fused = false;            // MulAdd may fuse
  bool ask_for_fma = false;      // LLVM would not fuse vectors by itself (ARMv7 with VFPv4)
  bool has_round = true;         // the CPU rounds to integral in one instruction
  bool holds_constants = false;  // a function may read constants beside its code
  // float16 is widened before LLVM looks: it would compare what was float16 as such, and
  // ARMv7's code generator calls fmaxf for that.
  bool fences_halves = false;
  std::vector<const ir::IntrinsicRow*> instructions;  // that the CPU has
  int vector_bits = 128;
  // Addresses are made in front of the loops that leave them alone, and go along with innermost
  // ones; those of a block, and what it loads, are made once. Else where they are used, for LLVM to
  // move and to share.
  bool shares_addresses = false;
};

class FunctionEmitter {
 public:
  FunctionEmitter(llvm::Module& module, const ir::Function& function, EmitOptions options);
  virtual ~FunctionEmitter() = default;
  FunctionEmitter(const FunctionEmitter&) = delete;
  FunctionEmitter& operator=(const FunctionEmitter&) = delete;

  // Makes the function. Internal: IR that should not be here.
  virtual Result<void> emit() = 0;

 protected:
  // What a variable holds: as a value of its own type, and, for scalar integers,
  // as an index. depth: how many loops are around its definition.
  struct Binding {
    llvm::Value* value = nullptr;
    llvm::Value* index = nullptr;
    int depth = 0;
    bool non_negative = false;
  };

  // A serial loop around the statement at hand.
  struct Loop {
    const ir::VarDecl* var = nullptr;
    llvm::Instruction* entry = nullptr;  // the branch into it
    llvm::BasicBlock* head = nullptr;
    llvm::Value* low = nullptr;  // the variable's first value
    bool innermost = false;
    // base + variable * bytes, which hold in each iteration, or go with the variable.
    std::map<std::tuple<llvm::Value*, const ir::VarDecl*, std::int64_t>, llvm::Value*> known;
    std::vector<std::pair<llvm::PHINode*, std::int64_t>> running;  // by so many bytes
  };

  // What differs: a loop bound to blocks or threads, an array that a block's threads share, a
  // barrier, what threads do together or behind their backs. Here: failures, of a device without
  // threads.
  virtual void emit_bound(const ir::For& loop);
  virtual llvm::Value* shared_array(const ir::BufferDecl& buffer);
  virtual void emit_barrier();
  virtual void emit(const ir::TileCall& call);
  virtual void emit(const ir::AsyncCopies& copies);
  virtual void emit(const ir::AwaitCopies& wait);
  virtual void emit(const ir::Store& store);  // emit_memory.cpp

  // The parameter's attributes: no two overlap, it is there whole, and perhaps only read.
  void describe_parameter(llvm::Function& function, unsigned place) const;

  // function_emitter.cpp: statements
  void emit(const ir::Stmt& stmt);
  void emit(const ir::Block& all);
  void emit(const ir::For& loop);
  void emit(const ir::IfThenElse& branch);
  void emit(const ir::Allocate& allocate);
  void emit(const ir::Let& let);
  void emit(const ir::Barrier& barrier);
  void emit_loop(const ir::Var& var, llvm::Value* low, llvm::Value* high, bool surely_entered,
                 bool non_negative, const ir::Stmt& body);
  llvm::BasicBlock* block(const char* name);

  // emit_expr.cpp: values
  llvm::Value* value(const ir::Expr& expr);  // once for what a statement's expressions share
  llvm::Value* computed(const ir::Expr& expr);
  llvm::Value* value_of(const ir::ExprNode& node, const ir::Binary& binary);
  llvm::Value* value_of(const ir::ExprNode& node, const ir::Unary& unary);
  llvm::Value* value_of(const ir::ExprNode& node, const ir::MulAdd& mul_add);
  llvm::Value* value_of(const ir::ExprNode& node, const ir::Intrinsic& call);  // emit_intrinsic.cpp
  llvm::Value* integer_division(const ir::Binary& binary, llvm::Value* a, llvm::Value* b,
                                bool is_signed);
  llvm::Value* converted(const ir::DataType& to, const ir::Expr& from);
  llvm::Value* rounded_down(llvm::Value* value);
  llvm::Value* rounded_even(llvm::Value* value);
  llvm::Type* type(ir::DataType type);
  llvm::Type* memory_type(ir::DataType type);  // Bool takes a byte
  llvm::Value* broadcast(llvm::Value* scalar, int lanes);
  bool non_negative(const ir::Expr& expr) const;
  int depth_of(const ir::Expr& expr) const;

  // emit_address.cpp
  llvm::Value* moved(llvm::Value* base, const ir::Expr& leaf, std::int64_t bytes);
  llvm::Value* running(Loop& loop, llvm::Value* base, std::int64_t bytes);
  llvm::Value* address(const ir::Buffer& buffer, const ir::Expr& scalar_index,
                       std::int64_t more_elements, llvm::Align& alignment);

  // emit_memory.cpp: indices, loads and stores
  llvm::Value* index(const ir::Expr& expr);
  ir::LeafSum terms_of(const ir::Expr& expr) const;
  llvm::Value* addresses(const ir::Buffer& buffer, const ir::Expr& vector_index);
  llvm::Value* load(const ir::ExprNode& node, const ir::Load& load);
  llvm::Value* loaded(const ir::Buffer& buffer, llvm::Type* type, llvm::Value* from,
                      llvm::Align alignment);
  llvm::Value* mask(const ir::Expr& predicate);   // null: all on
  llvm::GlobalVariable* zeros(llvm::Type* type);  // one of that type in memory
  llvm::Value* from_memory(ir::DataType type, llvm::Value* value);
  llvm::Value* to_memory(ir::DataType type, llvm::Value* value);

  // emit_permuted.cpp: loads whose lanes repeat or skip elements
  llvm::Value* load_permuted(const ir::ExprNode& node, const ir::Load& load);

  // emit_transposed.cpp: stores whose lanes lie apart. How many of the statements it has
  // made code of, from the first on; 0: none.
  std::size_t emit_transposed(std::span<const ir::Stmt> stmts);
  std::size_t rows_to_transpose(std::span<const ir::Stmt> stmts) const;
  void load_transposed(std::span<const ir::Stmt> rows);
  std::vector<llvm::Value*> transposed_load(const ir::Buffer& buffer, const ir::Strided& form,
                                            int lanes, int rows);

  void fail(std::string message);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const ir::Function& function_;
  EmitOptions options_;
  llvm::IRBuilder<> builder_;
  llvm::IntegerType* index_type_;
  llvm::Function* current_ = nullptr;
  int depth_ = 0;
  std::vector<Loop> loops_;  // as many as depth_, the outermost one first
  std::unordered_map<const ir::VarDecl*, Binding> variables_;
  std::unordered_map<const ir::BufferDecl*, llvm::Value*> buffers_;
  // Of the statement at hand; good in the block where they were made.
  std::unordered_map<ir::Expr, std::pair<llvm::Value*, llvm::BasicBlock*>> shared_;
  BlockValues made_;                                                  // of all statements
  std::unordered_map<const ir::ExprNode*, llvm::Value*> transposed_;  // loads made beforehand
  std::optional<Error> error_;
};

}  // namespace fettle::backend::llvm_emit
