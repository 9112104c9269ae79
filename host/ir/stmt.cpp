// Makers of statements (stmt.h).
#include "host/ir/stmt.h"

#include <cassert>

namespace fettle::ir {

namespace {
template <typename Node>
Stmt node(Node n) {
  return std::make_shared<const StmtNode>(StmtNode{std::move(n)});
}
}  // namespace

Stmt make_for(Var var, Expr min, Expr extent, ForKind kind, Stmt body, ThreadAxis axis,
              Pipeline pipeline) {
  assert(min->type == var->type && extent->type == var->type && body);
  assert((kind == ForKind::Bound) == (axis != ThreadAxis::None));
  return node(For{std::move(var), std::move(min), std::move(extent), kind, std::move(body), axis,
                  pipeline});
}

Stmt make_store(Buffer buffer, std::vector<Expr> indices, Expr value, Expr predicate) {
  assert(value->type.element() == buffer->type);
  assert(!predicate || predicate->type.lanes == value->type.lanes);
  return node(Store{std::move(buffer), std::move(indices), std::move(value), std::move(predicate)});
}

Stmt make_block(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  for (Stmt& stmt : stmts) {
    if (const auto* block = std::get_if<Block>(&stmt->node)) {
      flat.insert(flat.end(), block->stmts.begin(), block->stmts.end());
    } else {
      flat.push_back(std::move(stmt));
    }
  }
  if (flat.size() == 1) return flat.front();
  return node(Block{std::move(flat)});
}

Stmt make_if(Expr condition, Stmt then_stmt, Stmt else_stmt) {
  assert(condition->type == kBool);
  if (const std::int64_t* c = as_int(condition)) {
    if (*c) return then_stmt;
    return else_stmt ? else_stmt : make_block({});
  }
  return node(IfThenElse{std::move(condition), std::move(then_stmt), std::move(else_stmt)});
}

Stmt make_allocate(Buffer buffer, Stmt body) {
  return node(Allocate{std::move(buffer), std::move(body)});
}

Stmt make_let(Var var, Expr value, Stmt body) {
  assert(var->type == value->type);
  return node(Let{std::move(var), std::move(value), std::move(body)});
}

Stmt make_barrier(Scope scope) { return node(Barrier{scope}); }

Stmt make_tile_call(const IntrinsicRow& row, std::vector<Expr> operands) {
  return node(TileCall{&row, std::move(operands)});
}

Stmt make_async_copies(Stmt body) { return node(AsyncCopies{std::move(body)}); }
Stmt make_await_copies(int left) { return node(AwaitCopies{left}); }

}  // namespace fettle::ir
