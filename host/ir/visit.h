// Visiting nodes: one function per kind of node, and none forgotten. A new kind is a
// compile error at every visit() that does not say what becomes of it.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "host/ir/stmt.h"

namespace fettle::ir {

template <typename... Ts>
struct Cases : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Cases(Ts...) -> Cases<Ts...>;

// For a function that several kinds have in common: [](const OneOf<Ramp, Broadcast> auto&).
// Naming them, instead of `auto`, keeps the visit exhaustive.
template <typename T, typename... Kinds>
concept OneOf = (std::is_same_v<T, Kinds> || ...);

// Calls the function of the node's kind.
template <typename... Fs>
decltype(auto) visit(const Expr& expr, Fs&&... functions) {
  return std::visit(Cases{std::forward<Fs>(functions)...}, expr->node);
}
template <typename... Fs>
decltype(auto) visit(const Stmt& stmt, Fs&&... functions) {
  return std::visit(Cases{std::forward<Fs>(functions)...}, stmt->node);
}

// f(child) for each expression that this one is made of, in the order of its parts; not for
// those that are null.
template <typename F>
void for_each_child(const Expr& expr, F&& f) {
  visit(
      expr, [](const OneOf<IntImm, FloatImm, VarRef> auto&) {}, [&](const Unary& n) { f(n.a); },
      [&](const Binary& n) { f(n.a), f(n.b); }, [&](const MulAdd& n) { f(n.a), f(n.b), f(n.c); },
      [&](const Intrinsic& n) {
        for (const Expr& arg : n.args) f(arg);
      },
      [&](const Select& n) { f(n.condition), f(n.then_value), f(n.else_value); },
      [&](const OneOf<Cast, Reinterpret, Broadcast> auto& n) { f(n.value); },
      [&](const Load& n) {
        for (const Expr& index : n.indices) f(index);
        if (n.predicate) f(n.predicate);
      },
      [&](const Ramp& n) { f(n.base); });
}

// on_expr(e) for each expression that the statement itself holds, on_stmt(s) for each
// statement in it, in their order; neither for null.
template <typename OnStmt, typename OnExpr>
void for_each_part(const Stmt& stmt, OnStmt&& on_stmt, OnExpr&& on_expr) {
  visit(
      stmt, [&](const For& n) { on_expr(n.min), on_expr(n.extent), on_stmt(n.body); },
      [&](const Store& n) {
        for (const Expr& index : n.indices) on_expr(index);
        on_expr(n.value);
        if (n.predicate) on_expr(n.predicate);
      },
      [&](const Block& n) {
        for (const Stmt& child : n.stmts) on_stmt(child);
      },
      [&](const IfThenElse& n) {
        on_expr(n.condition), on_stmt(n.then_stmt);
        if (n.else_stmt) on_stmt(n.else_stmt);
      },
      [&](const Allocate& n) { on_stmt(n.body); },
      [&](const Let& n) { on_expr(n.value), on_stmt(n.body); },
      [&](const TileCall& n) {
        for (const Expr& operand : n.operands) on_expr(operand);
      },
      [&](const AsyncCopies& n) { on_stmt(n.body); },
      [](const OneOf<Barrier, AwaitCopies> auto&) {});
}

}  // namespace fettle::ir
