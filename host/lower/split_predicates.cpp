// The predicate pass (split_predicates.h).
#include "host/lower/split_predicates.h"

#include "host/ir/equal.h"
#include "host/ir/mutator.h"

namespace fettle::lower {

namespace {

// The one scalar condition of all lanes, or null.
ir::Expr uniform(const ir::Expr& predicate) {
  if (predicate->type.lanes == 1) return predicate;
  const auto* wide = std::get_if<ir::Broadcast>(&predicate->node);
  return wide ? wide->value : nullptr;
}

// value + a constant, as a copy in other numbers has it: the constant. Null: none.
ir::Expr added_constant(const ir::Expr& value) {
  const auto* sum = std::get_if<ir::Binary>(&value->node);
  if (!sum || sum->op != ir::BinaryOp::Add) return nullptr;
  const auto* wide = std::get_if<ir::Broadcast>(&sum->b->node);
  return ir::as_int(wide ? wide->value : sum->b) ? sum->b : nullptr;
}

class Split : public ir::Mutator {
 public:
  using ir::Mutator::mutate;
  ir::Stmt mutate(const ir::Stmt& stmt) override {
    const auto* store = stmt ? std::get_if<ir::Store>(&stmt->node) : nullptr;
    if (!store) return ir::Mutator::mutate(stmt);
    const ir::DataType type = store->value->type;
    const ir::Expr constant = added_constant(store->value);
    const ir::Expr copied = constant ? std::get<ir::Binary>(store->value->node).a : store->value;
    const auto plus = [&](const ir::Expr& v) { return constant ? v + constant : v; };
    const auto* choice = std::get_if<ir::Select>(&copied->node);
    const ir::Expr outside = choice ? choice->else_value : ir::zero_of(type);
    const ir::Expr value = choice ? choice->then_value : copied;
    const auto* converted = std::get_if<ir::Cast>(&value->node);
    const auto* load = std::get_if<ir::Load>(&(converted ? converted->value : value)->node);
    const ir::Expr condition = load && load->predicate ? uniform(load->predicate) : nullptr;
    if (!condition) return ir::Mutator::mutate(stmt);
    if (choice && !ir::equal(uniform(choice->condition), condition))
      return ir::Mutator::mutate(stmt);
    const ir::Expr inside =
        ir::cast(type, ir::load(load->buffer, load->indices, nullptr, type.lanes));
    return ir::make_if(
        condition, ir::make_store(store->buffer, store->indices, plus(inside), store->predicate),
        ir::make_store(store->buffer, store->indices, plus(outside), store->predicate));
  }
};

}  // namespace

ir::Stmt split_predicates(const ir::Stmt& stmt) { return Split().mutate(stmt); }

}  // namespace fettle::lower
