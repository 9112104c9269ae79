// Linear forms and bounds of index expressions (linear.h).
#include "host/ir/linear.h"

#include <algorithm>

#include "host/ir/fold.h"

namespace fettle::ir {

void Linear::add(const Var& var, std::int64_t coefficient) {
  for (auto it = terms.begin(); it != terms.end(); ++it) {
    if (it->first != var) continue;
    it->second += coefficient;
    if (it->second == 0) terms.erase(it);
    return;
  }
  if (coefficient != 0) terms.emplace_back(var, coefficient);
}

void Linear::add(const Linear& other, std::int64_t factor) {
  constant += factor * other.constant;
  for (const auto& [var, coefficient] : other.terms) add(var, factor * coefficient);
}

std::int64_t Linear::coefficient(const Var& var) const {
  for (const auto& [v, c] : terms) {
    if (v == var) return c;
  }
  return 0;
}

Expr Linear::expr(DataType type) const {
  Expr sum = int_imm(0, type);
  for (const auto& [var, c] : terms) {
    if (c < 0 && !as_int(sum)) {
      sum = sum - var_ref(var) * int_imm(-c, type);
    } else {
      sum = sum + var_ref(var) * int_imm(c, type);
    }
  }
  return constant < 0 && !as_int(sum) ? sum - int_imm(-constant, type)
                                      : sum + int_imm(constant, type);
}

std::optional<Linear> linear_of(const Expr& expr) {
  if (!expr->type.is_int() || expr->type.lanes != 1) return std::nullopt;
  Linear out;
  if (const std::int64_t* c = as_int(expr)) {
    out.constant = *c;
    return out;
  }
  if (const auto* ref = std::get_if<VarRef>(&expr->node)) {
    out.add(ref->var, 1);
    return out;
  }
  if (const auto* neg = std::get_if<Unary>(&expr->node); neg && neg->op == UnaryOp::Neg) {
    auto a = linear_of(neg->a);
    if (!a) return std::nullopt;
    out.add(*a, -1);
    return out;
  }
  const auto* op = std::get_if<Binary>(&expr->node);
  if (!op) return std::nullopt;
  if (op->op != BinaryOp::Add && op->op != BinaryOp::Sub && op->op != BinaryOp::Mul) {
    return std::nullopt;
  }
  auto a = linear_of(op->a), b = linear_of(op->b);
  if (!a || !b) return std::nullopt;
  if (op->op == BinaryOp::Mul) {
    if (!a->terms.empty() && !b->terms.empty()) return std::nullopt;
    if (a->terms.empty()) std::swap(a, b);
    out.add(*a, b->constant);
    return out;
  }
  out = *a;
  out.add(*b, op->op == BinaryOp::Add ? 1 : -1);
  return out;
}

std::optional<Interval> bounds_of(const Expr& expr, const Ranges& ranges) {
  if (const std::int64_t* c = as_int(expr)) return Interval{*c, *c};
  if (const auto* ref = std::get_if<VarRef>(&expr->node)) {
    auto it = ranges.find(ref->var);
    if (it == ranges.end()) return std::nullopt;
    return it->second;
  }
  // Linear forms are bounded term by term, which is exact where a variable occurs twice.
  if (auto linear = linear_of(expr)) {
    Interval sum{linear->constant, linear->constant};
    for (const auto& [var, c] : linear->terms) {
      auto it = ranges.find(var);
      if (it == ranges.end()) return std::nullopt;
      sum.low += std::min(c * it->second.low, c * it->second.high);
      sum.high += std::max(c * it->second.low, c * it->second.high);
    }
    return sum;
  }
  const auto* op = std::get_if<Binary>(&expr->node);
  if (!op || !op->a->type.is_int() || op->a->type.lanes != 1) return std::nullopt;
  const auto a = bounds_of(op->a, ranges), b = bounds_of(op->b, ranges);
  if (!a || !b) return std::nullopt;
  switch (op->op) {
    case BinaryOp::Add:
      return Interval{a->low + b->low, a->high + b->high};
    case BinaryOp::Sub:
      return Interval{a->low - b->high, a->high - b->low};
    case BinaryOp::Mul: {
      const std::int64_t products[] = {a->low * b->low, a->low * b->high, a->high * b->low,
                                       a->high * b->high};
      return Interval{*std::min_element(products, products + 4),
                      *std::max_element(products, products + 4)};
    }
    case BinaryOp::Min:
      return Interval{std::min(a->low, b->low), std::min(a->high, b->high)};
    case BinaryOp::Max:
      return Interval{std::max(a->low, b->low), std::max(a->high, b->high)};
    case BinaryOp::Div:
      if (b->low != b->high || b->low <= 0) return std::nullopt;
      return Interval{*fold_int(BinaryOp::Div, a->low, b->low, Scalar::Int64),
                      *fold_int(BinaryOp::Div, a->high, b->low, Scalar::Int64)};
    case BinaryOp::Mod:
      if (b->low != b->high || b->low <= 0) return std::nullopt;
      if (a->low >= 0 && a->high < b->low) return *a;
      return Interval{0, b->low - 1};
    default:
      return std::nullopt;
  }
}

}  // namespace fettle::ir
