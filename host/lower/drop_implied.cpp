// The pass that drops implied conditions (drop_implied.h).
#include "host/lower/drop_implied.h"

#include <vector>

#include "host/ir/conditions.h"
#include "host/ir/mutator.h"
#include "host/lower/least.h"

namespace fettle::lower {

namespace {

const Bound kNothing;

class DropImplied : public ir::Mutator {
 public:
  using ir::Mutator::mutate;

  ir::Stmt mutate(const ir::Stmt& stmt) override {
    const auto* branch = stmt ? std::get_if<ir::IfThenElse>(&stmt->node) : nullptr;
    if (!branch) return ir::Mutator::mutate(stmt);
    const ir::Expr condition = without_implied(branch->condition);
    const std::vector<Known> before = known_;
    for (const ir::Expr& part : ir::conjuncts(branch->condition)) {
      if (auto form = least_of(part, kNothing))
        known_.push_back({*form, bound_in(branch->then_stmt)});
    }
    const ir::Stmt then_stmt = mutate(branch->then_stmt);
    known_ = before;
    const std::int64_t* always = ir::as_int(condition);
    if (always && *always) return then_stmt;
    const ir::Stmt else_stmt = branch->else_stmt ? mutate(branch->else_stmt) : nullptr;
    return ir::make_if(condition, then_stmt, else_stmt);
  }

  ir::Expr mutate(const ir::Expr& expr) override {
    if (!expr || known_.empty()) return ir::Mutator::mutate(expr);
    if (const auto* load = std::get_if<ir::Load>(&expr->node); load && load->predicate) {
      return ir::load(load->buffer, mutate_all(load->indices), without_implied(load->predicate),
                      expr->type.lanes);
    }
    if (const auto* choice = std::get_if<ir::Select>(&expr->node)) {
      return ir::select(without_implied(choice->condition), mutate(choice->then_value),
                        mutate(choice->else_value));
    }
    return ir::Mutator::mutate(expr);
  }

 private:
  // A form that is >= 0 in the branch at hand, and what that branch binds.
  struct Known {
    ir::Affine form;
    Bound bound;
  };

  ir::Expr without_implied(const ir::Expr& condition) const {
    const auto* both = std::get_if<ir::Binary>(&condition->node);
    if (both && both->op == ir::BinaryOp::And) {
      return ir::binary(ir::BinaryOp::And, without_implied(both->a), without_implied(both->b));
    }
    for (const Known& known : known_) {
      auto least = least_of(condition, known.bound);
      if (!least) continue;
      least->add(known.form, -1);
      if (least->terms.empty() && least->constant >= 0) return ir::bool_imm(true);
    }
    return condition;
  }

  std::vector<Known> known_;
};

}  // namespace

ir::Stmt drop_implied(const ir::Stmt& stmt) { return DropImplied().mutate(stmt); }

}  // namespace fettle::lower
