// Immutable statements.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "host/ir/expr.h"

namespace fettle::ir {

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;

enum class ForKind : std::uint8_t {
  Serial,
  Unrolled,    // the unroll pass replaces it
  Vectorized,  // the vectorise pass replaces it; constant extent
  Parallel,    // outermost only: becomes the launch's parallel extent
  Bound        // run by blocks or threads: For::axis says which
};

struct For {
  Var var;
  Expr min, extent;
  ForKind kind;
  Stmt body;
  ThreadAxis axis = ThreadAxis::None;  // of a Bound loop
};
struct Store {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;
  Expr predicate;
};  // as Load
struct Block {
  std::vector<Stmt> stmts;
};
struct IfThenElse {
  Expr condition;
  Stmt then_stmt, else_stmt;
};  // else_stmt may be null
struct Allocate {
  Buffer buffer;
  Stmt body;
};  // contents undefined at entry
struct Let {
  Var var;
  Expr value;
  Stmt body;
};

// No thread of the block goes on before all have come here; what they wrote in `scope` before,
// all may read after. Every thread of the block comes here equally often.
struct Barrier {
  Scope scope;
};

struct StmtNode {
  std::variant<For, Store, Block, IfThenElse, Allocate, Let, Barrier> node;
};

Stmt make_for(Var var, Expr min, Expr extent, ForKind kind, Stmt body,
              ThreadAxis axis = ThreadAxis::None);
Stmt make_store(Buffer buffer, std::vector<Expr> indices, Expr value, Expr predicate = nullptr);
Stmt make_block(std::vector<Stmt> stmts);  // flattens nested blocks
Stmt make_if(Expr condition, Stmt then_stmt, Stmt else_stmt = nullptr);
Stmt make_allocate(Buffer buffer, Stmt body);
Stmt make_let(Var var, Expr value, Stmt body);
Stmt make_barrier(Scope scope);

}  // namespace fettle::ir
