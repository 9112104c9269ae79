// The border pass (split_border.h).
#include "host/lower/split_border.h"

#include <set>
#include <vector>

#include "host/ir/linear.h"
#include "host/ir/mutator.h"

namespace fettle::lower {

namespace {

// What is bound inside a tile: variables with their ranges, and those without.
struct Inside {
  ir::Ranges ranges;
  std::set<ir::Var> unknown;
};

Inside bound_in(const ir::Stmt& body) {
  Inside inside;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        if (const auto* loop = std::get_if<ir::For>(&s->node)) {
          const std::int64_t* min = ir::as_int(loop->min);
          const std::int64_t* extent = ir::as_int(loop->extent);
          if (min && extent && *extent > 0) {
            inside.ranges[loop->var] = {*min, *min + *extent - 1};
          } else {
            inside.unknown.insert(loop->var);
          }
        } else if (const auto* let = std::get_if<ir::Let>(&s->node)) {
          inside.unknown.insert(let->var);
        }
      },
      nullptr);
  return inside;
}

// A comparison holds for the whole tile where least >= 0, a form of outer variables.
std::optional<ir::Linear> least_of(const ir::Binary& comparison, const Inside& inside) {
  if (comparison.op != ir::BinaryOp::Lt && comparison.op != ir::BinaryOp::Le) return std::nullopt;
  const auto a = ir::linear_of(comparison.a), b = ir::linear_of(comparison.b);
  if (!a || !b) return std::nullopt;
  ir::Linear difference = *b;
  difference.add(*a, -1);
  ir::Linear least;
  least.constant = difference.constant - (comparison.op == ir::BinaryOp::Lt ? 1 : 0);
  for (const auto& [var, c] : difference.terms) {
    if (inside.unknown.count(var)) return std::nullopt;
    const auto range = inside.ranges.find(var);
    if (range == inside.ranges.end()) {
      least.add(var, c);
    } else {
      least.constant += c * (c > 0 ? range->second.low : range->second.high);
    }
  }
  return least;
}

// Replaces comparisons that least_of() understands in conditions by true.
class Drop : public ir::Mutator {
 public:
  Drop(const Inside& inside, std::vector<ir::Linear>& needed) : inside_(inside), needed_(needed) {}
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

 private:
  ir::Expr condition(const ir::Expr& e) {
    const auto* op = std::get_if<ir::Binary>(&e->node);
    if (!op) return e;
    if (op->op == ir::BinaryOp::And) {
      return ir::binary(ir::BinaryOp::And, condition(op->a), condition(op->b));
    }
    const auto least = least_of(*op, inside_);
    if (!least) return e;
    require(*least);
    return ir::bool_imm(true);
  }

  // Of forms that differ in their constant only, the smallest decides.
  void require(const ir::Linear& least) {
    for (ir::Linear& known : needed_) {
      if (known.terms != least.terms) continue;
      known.constant = std::min(known.constant, least.constant);
      return;
    }
    needed_.push_back(least);
  }

  const Inside& inside_;
  std::vector<ir::Linear>& needed_;
};

class SplitBorder : public ir::Mutator {
 public:
  using ir::Mutator::mutate;
  ir::Stmt mutate(const ir::Stmt& stmt) override {
    const auto* tile = stmt ? std::get_if<ir::Allocate>(&stmt->node) : nullptr;
    if (!tile || tile->buffer->scope != ir::Scope::Register) return ir::Mutator::mutate(stmt);
    const Inside inside = bound_in(tile->body);
    std::vector<ir::Linear> needed;
    const ir::Stmt plain = Drop(inside, needed).mutate(stmt);
    ir::Expr holds = ir::bool_imm(true);
    for (const ir::Linear& least : needed) {
      holds = ir::binary(ir::BinaryOp::And, holds,
                         ir::binary(ir::BinaryOp::Le, ir::int_imm(0), least.expr()));
    }
    return ir::make_if(holds, plain, stmt);
  }
};

}  // namespace

ir::Stmt split_border(const ir::Stmt& stmt) { return SplitBorder().mutate(stmt); }

}  // namespace fettle::lower
