// Counting operations (operation_count.h).
#include "host/ir/operation_count.h"

#include <unordered_set>

#include "host/ir/intrinsics.h"
#include "host/ir/visit.h"

namespace fettle::ir {

namespace {

OperationCount of_type(DataType type, double each, bool in_condition) {
  const double count = each * type.lanes;
  if (type.is_float()) return {count, 0, 0};
  if (type.is_bool() || in_condition) return {0, 0, count};
  return {0, count, 0};
}

class Counter {
 public:
  OperationCount sum;

  void add(const Expr& e, bool in_condition) {
    if (e.use_count() > 1 && !seen_.insert(e.get()).second) return;
    sum += operations_of_node(e, in_condition);
    if (std::holds_alternative<Load>(e->node) || std::holds_alternative<Ramp>(e->node)) return;
    const auto* choice = std::get_if<Select>(&e->node);
    for_each_child(e, [&](const Expr& child) {
      add(child, in_condition || (choice && child == choice->condition));
    });
  }

 private:
  std::unordered_set<const ExprNode*> seen_;
};

}  // namespace

OperationCount operations_of_node(const Expr& expr, bool in_condition) {
  const DataType type = expr->type;
  return visit(
      expr,
      [&](const Unary& n) { return of_type(type, n.op == UnaryOp::Tf32 ? 0 : 1, in_condition); },
      [&](const Binary&) { return of_type(type, 1, in_condition); },
      [&](const MulAdd&) { return of_type(type, 2, in_condition); },
      [&](const Intrinsic& n) {
        const OperationCount each = n.row->operations;
        const double lanes = type.lanes;
        return OperationCount{lanes * each.floating, lanes * each.integer, lanes * each.conditions};
      },
      [](const OneOf<IntImm, FloatImm, VarRef, Select, Cast, Reinterpret, Load, Ramp,
                     Broadcast> auto&) { return OperationCount{}; });
}

OperationCount operations_of(const Expr& expr) {
  Counter counter;
  counter.add(expr, false);
  return counter.sum;
}

}  // namespace fettle::ir
