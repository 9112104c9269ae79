// The border pass (split_border.h).
#include "host/lower/split_border.h"

#include <vector>

#include "host/ir/mutator.h"
#include "host/lower/least.h"

namespace fettle::lower {

namespace {

// Replaces comparisons that least_of() understands in conditions by true.
class Drop : public ir::Mutator {
 public:
  Drop(const Bound& inside, std::vector<ir::Affine>& needed) : inside_(inside), needed_(needed) {}
  using ir::Mutator::mutate;

  ir::Expr mutate(const ir::Expr& expr) override {
    if (!expr) return expr;
    if (const auto* load = std::get_if<ir::Load>(&expr->node); load && load->predicate) {
      return ir::load(load->buffer, mutate_all(load->indices), condition(load->predicate),
                      expr->type.lanes);
    }
    if (const auto* choice = std::get_if<ir::Select>(&expr->node)) {
      return ir::select(condition(choice->condition), mutate(choice->then_value),
                        mutate(choice->else_value));
    }
    return ir::Mutator::mutate(expr);
  }

  // Iterations that are skipped where they would add zeros only.
  ir::Stmt mutate(const ir::Stmt& stmt) override {
    const auto* branch = stmt ? std::get_if<ir::IfThenElse>(&stmt->node) : nullptr;
    if (!branch || branch->else_stmt) return ir::Mutator::mutate(stmt);
    return ir::make_if(condition(branch->condition), mutate(branch->then_stmt));
  }

 private:
  ir::Expr condition(const ir::Expr& e) {
    const auto* both = std::get_if<ir::Binary>(&e->node);
    if (both && both->op == ir::BinaryOp::And) {
      return ir::binary(ir::BinaryOp::And, condition(both->a), condition(both->b));
    }
    const auto least = least_of(e, inside_);
    if (!least) return e;
    require(*least);
    return ir::bool_imm(true);
  }

  // Of forms that differ in their constant only, the smallest decides.
  void require(const ir::Affine& least) {
    for (ir::Affine& known : needed_) {
      if (known.terms != least.terms) continue;
      known.constant = std::min(known.constant, least.constant);
      return;
    }
    needed_.push_back(least);
  }

  const Bound& inside_;
  std::vector<ir::Affine>& needed_;
};

class SplitBorder : public ir::Mutator {
 public:
  using ir::Mutator::mutate;
  ir::Stmt mutate(const ir::Stmt& stmt) override {
    const auto* tile = stmt ? std::get_if<ir::Allocate>(&stmt->node) : nullptr;
    if (!tile || tile->buffer->scope != ir::Scope::Register) return ir::Mutator::mutate(stmt);
    const Bound inside = bound_in(tile->body);
    std::vector<ir::Affine> needed;
    const ir::Stmt plain = Drop(inside, needed).mutate(stmt);
    ir::Expr holds = ir::bool_imm(true);
    for (const ir::Affine& least : needed) {
      holds = ir::binary(ir::BinaryOp::And, holds,
                         ir::binary(ir::BinaryOp::Le, ir::int_imm(0), least.expr()));
    }
    return ir::make_if(holds, plain, stmt);
  }
};

}  // namespace

ir::Stmt split_border(const ir::Stmt& stmt) { return SplitBorder().mutate(stmt); }

}  // namespace fettle::lower
