// The predicate pass (split_predicates.h).
#include "host/lower/split_predicates.h"

#include <algorithm>

#include "host/ir/conditions.h"
#include "host/ir/equal.h"
#include "host/ir/mutator.h"

namespace fettle::lower {

namespace {

// The one scalar condition of all lanes, or null.
ir::Expr uniform(const ir::Expr& predicate) {
  if (!predicate || predicate->type.lanes == 1) return predicate;
  const auto* wide = std::get_if<ir::Broadcast>(&predicate->node);
  return wide ? wide->value : nullptr;
}

// a of a + a constant, as a copy in other numbers has it. Null: no such sum.
const ir::Binary* moved(const ir::Expr& value) {
  const auto* sum = std::get_if<ir::Binary>(&value->node);
  if (!sum || sum->op != ir::BinaryOp::Add) return nullptr;
  const auto* wide = std::get_if<ir::Broadcast>(&sum->b->node);
  return ir::as_int(wide ? wide->value : sum->b) ? sum : nullptr;
}

// What is left of a predicate where `condition` holds.
ir::Expr left_of(const ir::Expr& predicate, const ir::Expr& condition) {
  const ir::Expr scalar = uniform(predicate);
  if (!scalar) return predicate;
  const std::vector<ir::Expr> known = ir::conjuncts(condition);
  std::vector<ir::Expr> parts = ir::conjuncts(scalar);
  std::erase_if(parts, [&](const ir::Expr& part) {
    return std::any_of(known.begin(), known.end(),
                       [&](const ir::Expr& e) { return ir::equal(e, part); });
  });
  const ir::Expr left = ir::all_of(parts);
  const int lanes = predicate->type.lanes;
  return left && lanes > 1 ? ir::broadcast(left, lanes) : left;
}

// What is copied: a load, converted, moved, or under a choice. Null: the value is no copy.
const ir::Load* copied(const ir::Expr& value) {
  if (const auto* choice = std::get_if<ir::Select>(&value->node)) return copied(choice->then_value);
  if (const ir::Binary* sum = moved(value)) return copied(sum->a);
  if (const auto* cast = std::get_if<ir::Cast>(&value->node)) return copied(cast->value);
  return std::get_if<ir::Load>(&value->node);
}

// The outermost condition of a copy, of which its load's predicate is a part or more. Null: there
// is none, or it differs by lane, or the value is no copy.
ir::Expr condition_of(const ir::Expr& value) {
  const ir::Load* load = copied(value);
  if (!load || !load->predicate) return nullptr;
  if (const auto* choice = std::get_if<ir::Select>(&value->node)) {
    const ir::Expr condition = uniform(choice->condition);
    if (!condition) return nullptr;
    const ir::Expr left = left_of(load->predicate, condition);
    return left && ir::equal(left, load->predicate) ? nullptr : condition;
  }
  if (const ir::Binary* sum = moved(value)) return condition_of(sum->a);
  if (const auto* cast = std::get_if<ir::Cast>(&value->node)) return condition_of(cast->value);
  return uniform(load->predicate);
}

// The copy where its outermost condition holds, and where it does not.
ir::Expr decided(const ir::Expr& value, const ir::Expr& condition, bool holds) {
  if (const auto* choice = std::get_if<ir::Select>(&value->node)) {
    if (ir::equal(uniform(choice->condition), condition)) {
      if (!holds) return choice->else_value;
      return decided(choice->then_value, condition, holds);
    }
  }
  if (const ir::Binary* sum = moved(value)) return decided(sum->a, condition, holds) + sum->b;
  if (const auto* cast = std::get_if<ir::Cast>(&value->node)) {
    return ir::cast(value->type, decided(cast->value, condition, holds));
  }
  const auto* load = std::get_if<ir::Load>(&value->node);
  if (!load || !load->predicate) return value;
  const ir::Expr left = left_of(load->predicate, condition);
  if (!holds) return left ? value : ir::zero_of(value->type);
  return ir::load(load->buffer, load->indices, left, value->type.lanes);
}

class Split : public ir::Mutator {
 public:
  using ir::Mutator::mutate;
  ir::Stmt mutate(const ir::Stmt& stmt) override {
    const auto* store = stmt ? std::get_if<ir::Store>(&stmt->node) : nullptr;
    const ir::Expr condition = store ? condition_of(store->value) : nullptr;
    if (!condition) return ir::Mutator::mutate(stmt);
    const auto where = [&](bool holds) {
      return mutate(ir::make_store(store->buffer, store->indices,
                                   decided(store->value, condition, holds), store->predicate));
    };
    return ir::make_if(condition, where(true), where(false));
  }
};

}  // namespace

ir::Stmt split_predicates(const ir::Stmt& stmt) { return Split().mutate(stmt); }

}  // namespace fettle::lower
