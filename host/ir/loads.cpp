// Loads in expressions (loads.h).
#include "host/ir/loads.h"

#include "host/ir/mutator.h"

namespace fettle::ir {

namespace {

class ReplaceLoads : public Mutator {
 public:
  ReplaceLoads(const Buffer& buffer, const std::function<Expr(const Load&)>& rewrite)
      : buffer_(buffer), rewrite_(rewrite) {}
  using Mutator::mutate;
  Expr mutate(const Expr& expr) override {
    const auto* load = expr ? std::get_if<Load>(&expr->node) : nullptr;
    if (!load || load->buffer != buffer_) return Mutator::mutate(expr);
    const Expr inner = Mutator::mutate(expr);
    return rewrite_(std::get<Load>(inner->node));
  }

 private:
  const Buffer& buffer_;
  const std::function<Expr(const Load&)>& rewrite_;
};

class GuardLoads : public Mutator {
 public:
  GuardLoads(const Expr& condition, const std::function<bool(const Load&)>& moves)
      : condition_(condition), moves_(moves) {}
  using Mutator::mutate;
  Expr mutate(const Expr& expr) override {
    const auto* load = expr ? std::get_if<Load>(&expr->node) : nullptr;
    if (!load || !moves_(*load)) return Mutator::mutate(expr);
    return ir::load(
        load->buffer, load->indices,
        load->predicate ? binary(BinaryOp::And, condition_, load->predicate) : condition_,
        expr->type.lanes);
  }

 private:
  const Expr& condition_;
  const std::function<bool(const Load&)>& moves_;
};

}  // namespace

bool mentions(const Expr& expr, const Var& var) {
  bool found = false;
  walk(expr, [&](const Expr& e) {
    const auto* ref = std::get_if<VarRef>(&e->node);
    found |= ref && ref->var == var;
  });
  return found;
}

Expr replace_loads(const Expr& expr, const Buffer& buffer,
                   const std::function<Expr(const Load&)>& rewrite) {
  return ReplaceLoads(buffer, rewrite).mutate(expr);
}

Expr guard_loads(const Expr& expr, const Expr& condition,
                 const std::function<bool(const Load&)>& moves) {
  return GuardLoads(condition, moves).mutate(expr);
}

}  // namespace fettle::ir
