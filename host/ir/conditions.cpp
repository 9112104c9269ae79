// Taking conditions apart (conditions.h).
#include "host/ir/conditions.h"

namespace fettle::ir {

namespace {

void append(const Expr& condition, std::vector<Expr>& parts) {
  const auto* both = std::get_if<Binary>(&condition->node);
  if (!both || both->op != BinaryOp::And) return parts.push_back(condition);
  append(both->a, parts);
  append(both->b, parts);
}

}  // namespace

std::vector<Expr> conjuncts(const Expr& condition) {
  std::vector<Expr> parts;
  append(condition, parts);
  return parts;
}

Expr all_of(const std::vector<Expr>& parts) {
  Expr all;
  for (const Expr& part : parts) all = all ? binary(BinaryOp::And, all, part) : part;
  return all;
}

std::optional<Affine> slack_of(const Expr& comparison) {
  const auto* compare = std::get_if<Binary>(&comparison->node);
  if (!compare || (compare->op != BinaryOp::Le && compare->op != BinaryOp::Lt) ||
      !compare->a->type.is_int()) {
    return std::nullopt;
  }
  auto slack = affine_of(compare->b);
  const auto less = affine_of(compare->a);
  if (!slack || !less) return std::nullopt;
  slack->add(*less, -1);
  if (compare->op == BinaryOp::Lt) slack->constant -= 1;
  return slack;
}

}  // namespace fettle::ir
