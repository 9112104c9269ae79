// The pass that drops products of padding (drop_zero_products.h).
#include "host/lower/drop_zero_products.h"

#include "host/ir/mutator.h"

namespace fettle::lower {

namespace {

bool is_zero(const ir::Expr& e) {
  const auto* wide = std::get_if<ir::Broadcast>(&e->node);
  const auto* value = std::get_if<ir::FloatImm>(&(wide ? wide->value : e)->node);
  return value && value->value == 0;
}

class DropZeroProducts : public ir::Mutator {
 public:
  using ir::Mutator::mutate;
  ir::Expr mutate(const ir::Expr& expr) override {
    // No sum of products takes part in an index.
    if (!expr || (expr->type.is_int() && expr->type.lanes == 1)) return expr;
    const auto* sum = std::get_if<ir::MulAdd>(&expr->node);
    if (!sum || (!is_zero(sum->a) && !is_zero(sum->b))) return ir::Mutator::mutate(expr);
    return mutate(sum->c);
  }
};

}  // namespace

ir::Stmt drop_zero_products(const ir::Stmt& stmt) { return DropZeroProducts().mutate(stmt); }

}  // namespace fettle::lower
