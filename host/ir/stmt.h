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
  GpuBlock,
  GpuThread
};

struct For {
  Var var;
  Expr min, extent;
  ForKind kind;
  Stmt body;
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

struct StmtNode {
  std::variant<For, Store, Block, IfThenElse, Allocate, Let> node;
};

Stmt make_for(Var var, Expr min, Expr extent, ForKind kind, Stmt body);
Stmt make_store(Buffer buffer, std::vector<Expr> indices, Expr value, Expr predicate = nullptr);
Stmt make_block(std::vector<Stmt> stmts);  // flattens nested blocks
Stmt make_if(Expr condition, Stmt then_stmt, Stmt else_stmt = nullptr);
Stmt make_allocate(Buffer buffer, Stmt body);
Stmt make_let(Var var, Expr value, Stmt body);

}  // namespace fettle::ir
