// Reading zeros off a copy's body (padding.h).
#include "host/space/padding.h"

#include <algorithm>

#include "host/ir/conditions.h"
#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/algorithms/dot_product.h"

namespace fettle::space {

namespace {

bool is_zero(const ir::Expr& value) {
  const std::int64_t* integer = ir::as_int(value);
  const auto* real = std::get_if<ir::FloatImm>(&value->node);
  return (integer && *integer == 0) || (real && real->value == 0);
}

const ir::Load* factor_read(const Stage& sum, const ir::Buffer& buffer) {
  if (const auto packed = packed_factors(sum)) {
    return packed->data->buffer == buffer ? packed->data : nullptr;
  }
  return factor_from(sum, buffer);
}

}  // namespace

std::vector<ir::Expr> zero_unless(const Stage& copy) {
  if (copy.placeholder() || !copy.reduce_axes.empty()) return {};
  if (const auto* choice = std::get_if<ir::Select>(&copy.body->node)) {
    return is_zero(choice->else_value) ? ir::conjuncts(choice->condition) : std::vector<ir::Expr>{};
  }
  const auto* load = std::get_if<ir::Load>(&copy.body->node);
  return load && load->predicate ? ir::conjuncts(load->predicate) : std::vector<ir::Expr>{};
}

std::vector<ir::Expr> adds_nothing_unless(const Stage& sum, const Stage& copy) {
  const ir::Load* factor = factor_read(sum, copy.buffer);
  if (!factor || factor->predicate) return {};
  std::vector<ir::Expr> conditions = zero_unless(copy);
  ir::Substitution place;
  for (std::size_t d = 0; d < factor->indices.size(); ++d) {
    const ir::Var& axis = copy.axes[d].var;
    if (factor->indices[d]->type.lanes == 1) {
      place[axis] = factor->indices[d];
    } else {  // what differs between the four says nothing of all
      std::erase_if(conditions, [&](const ir::Expr& e) { return ir::mentions(e, axis); });
    }
  }
  for (ir::Expr& condition : conditions) condition = ir::substitute(condition, place);
  return conditions;
}

}  // namespace fettle::space
