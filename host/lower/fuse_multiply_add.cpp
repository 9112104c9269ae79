// The multiply-add pass (fuse_multiply_add.h).
#include "host/lower/fuse_multiply_add.h"

#include "host/ir/mutator.h"

namespace fettle::lower {

namespace {

const ir::Binary* as_product(const ir::Expr& e) {
  const auto* op = std::get_if<ir::Binary>(&e->node);
  return op && op->op == ir::BinaryOp::Mul ? op : nullptr;
}

// dot4(a, b, 0): the products alone.
const ir::Dot4* as_products_of_bytes(const ir::Expr& e) {
  const auto* dot = std::get_if<ir::Dot4>(&e->node);
  return dot && ir::as_int(dot->c) && *ir::as_int(dot->c) == 0 ? dot : nullptr;
}

class Fuse : public ir::Mutator {
 public:
  using ir::Mutator::mutate;
  ir::Expr mutate(const ir::Expr& expr) override {
    const ir::Expr e = ir::Mutator::mutate(expr);
    const auto* sum = e ? std::get_if<ir::Binary>(&e->node) : nullptr;
    if (!sum || sum->op != ir::BinaryOp::Add) return e;
    if (const ir::Dot4* dot = as_products_of_bytes(sum->b))
      return ir::dot4(dot->a, dot->b, sum->a, dot->unsigned_a);
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
