// The multiply-add pass (fuse_multiply_add.h).
#include "host/lower/fuse_multiply_add.h"

#include "host/ir/intrinsics.h"
#include "host/ir/mutator.h"

namespace fettle::lower {

namespace {

const ir::Binary* as_product(const ir::Expr& e) {
  const auto* op = std::get_if<ir::Binary>(&e->node);
  return op && op->op == ir::BinaryOp::Mul ? op : nullptr;
}

// An instruction that adds to zero: what it adds, alone.
const ir::Intrinsic* as_addend(const ir::Expr& e) {
  const auto* call = std::get_if<ir::Intrinsic>(&e->node);
  const std::int64_t* sum = call ? ir::as_int(call->args.back()) : nullptr;
  return sum && *sum == 0 ? call : nullptr;
}

class Fuse : public ir::Mutator {
 public:
  using ir::Mutator::mutate;
  ir::Expr mutate(const ir::Expr& expr) override {
    // Of places, which add no products of floats, nothing is looked at.
    if (expr && std::holds_alternative<ir::Load>(expr->node)) return expr;
    const ir::Expr e = ir::Mutator::mutate(expr);
    const auto* sum = e ? std::get_if<ir::Binary>(&e->node) : nullptr;
    if (!sum || sum->op != ir::BinaryOp::Add) return e;
    if (const ir::Intrinsic* call = as_addend(sum->b)) {
      std::vector<ir::Expr> args = call->args;
      args.back() = sum->a;
      return ir::intrinsic(*call->row, std::move(args));
    }
    if (!e->type.is_float()) return e;
    if (const ir::Binary* product = as_product(sum->b))
      return ir::mul_add(product->a, product->b, sum->a);
    if (const ir::Binary* product = as_product(sum->a))
      return ir::mul_add(product->a, product->b, sum->b);
    return e;
  }
};

}  // namespace

ir::Stmt fuse_multiply_add(const ir::Stmt& stmt) { return Fuse().mutate(stmt); }

}  // namespace fettle::lower
