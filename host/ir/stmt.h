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

// What a loop's iterations put into memory that a block shares is made ahead: `stages` of them
// have their own place there. async: by copies that go on beside the threads.
struct Pipeline {
  int stages = 1;
  bool async = false;
};

struct For {
  Var var;
  Expr min, extent;
  ForKind kind;
  Stmt body;
  ThreadAxis axis = ThreadAxis::None;  // of a Bound loop
  Pipeline pipeline = {};              // of a Serial loop, until the pipeline pass has made it
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

// One execution of a row by the threads that it takes (IntrinsicRow::threads), which are
// neighbours along x and all come here. operands: scalar loads, at the row's own place in its tile
// (IntrinsicRow::m, n, k); what the last one reads is what is written.
struct TileCall {
  const IntrinsicRow* row;
  std::vector<Expr> operands;
};

// A thread's stores of the body into memory that its block shares may happen later, by AwaitCopies
// at the latest. They are one group.
struct AsyncCopies {
  Stmt body;
};
// All of a thread's groups but the `left` newest are there.
struct AwaitCopies {
  int left;
};

struct StmtNode {
  std::variant<For, Store, Block, IfThenElse, Allocate, Let, Barrier, TileCall, AsyncCopies,
               AwaitCopies>
      node;
};

Stmt make_for(Var var, Expr min, Expr extent, ForKind kind, Stmt body,
              ThreadAxis axis = ThreadAxis::None, Pipeline pipeline = {});
Stmt make_store(Buffer buffer, std::vector<Expr> indices, Expr value, Expr predicate = nullptr);
Stmt make_block(std::vector<Stmt> stmts);  // flattens nested blocks
Stmt make_if(Expr condition, Stmt then_stmt, Stmt else_stmt = nullptr);
Stmt make_allocate(Buffer buffer, Stmt body);
Stmt make_let(Var var, Expr value, Stmt body);
Stmt make_barrier(Scope scope);
Stmt make_tile_call(const IntrinsicRow& row, std::vector<Expr> operands);
Stmt make_async_copies(Stmt body);
Stmt make_await_copies(int left);

}  // namespace fettle::ir
