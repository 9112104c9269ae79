// Affine forms of index expressions (affine.h): one traversal, three kinds of leaves.
#include "host/ir/affine.h"

#include <algorithm>
#include <limits>

#include "host/ir/fold.h"
#include "host/ir/loads.h"
#include "host/ir/visit.h"

namespace fettle::ir {

bool same_leaf(const Expr& a, const Expr& b) {
  if (a == b) return true;
  const auto *x = std::get_if<VarRef>(&a->node), *y = std::get_if<VarRef>(&b->node);
  return x && y && x->var == y->var;
}

namespace {

// Adds factor * expr to rules.sum. What is neither a sum nor a multiple is for
// rules.leaf(expr, factor), which says whether it can be part of the form.
template <typename Rules, typename Coefficient>
bool add_terms(const Expr& expr, Coefficient factor, Rules& rules) {
  if (const std::int64_t* c = as_int(expr)) {
    rules.sum.constant += factor * static_cast<Coefficient>(*c);
    return true;
  }
  if (const auto* neg = std::get_if<Unary>(&expr->node); neg && neg->op == UnaryOp::Neg) {
    return add_terms(neg->a, -factor, rules);
  }
  const auto* op = std::get_if<Binary>(&expr->node);
  if (!op) return rules.leaf(expr, factor);
  if (op->op == BinaryOp::Add || op->op == BinaryOp::Sub) {
    return add_terms(op->a, factor, rules) &&
           add_terms(op->b, op->op == BinaryOp::Add ? factor : -factor, rules);
  }
  if (op->op == BinaryOp::Mul) {
    if (const std::int64_t* right = as_int(op->b)) {
      return add_terms(op->a, factor * static_cast<Coefficient>(*right), rules);
    }
    if (const std::int64_t* left = as_int(op->a)) {
      return add_terms(op->b, factor * static_cast<Coefficient>(*left), rules);
    }
  }
  return rules.leaf(expr, factor);
}

// Variables only.
struct Exact {
  Affine sum;

  bool leaf(const Expr& expr, std::int64_t factor) {
    if (const auto* ref = std::get_if<VarRef>(&expr->node)) {
      sum.add(ref->var, factor);
      return true;
    }
    // A factor may turn out to be constant: (x - x + 2) * y.
    const auto* product = std::get_if<Binary>(&expr->node);
    if (!product || product->op != BinaryOp::Mul) return false;
    auto a = affine_of(product->a), b = affine_of(product->b);
    if (!a || !b || (!a->terms.empty() && !b->terms.empty())) return false;
    if (a->terms.empty()) std::swap(a, b);
    sum.add(*a, factor * b->constant);
    return true;
  }
};

struct AnyLeaf {
  LeafSum sum;

  bool leaf(const Expr& expr, std::int64_t factor) {
    sum.add(expr, factor);
    return true;
  }
};

struct Approximate {
  const Movements& lets;
  Movement sum;

  bool leaf(const Expr& expr, double factor) {
    const auto through = [&](const Expr& e) { return add_terms(e, factor, *this); };
    return visit(
        expr,
        [&](const VarRef& n) {
          const auto known = lets.find(n.var);
          known != lets.end() ? sum.add(known->second, factor) : sum.add(n.var, factor);
          return true;
        },
        [&](const Ramp& n) { return through(n.base); },
        [&](const OneOf<Broadcast, Cast> auto& n) { return through(n.value); },
        [&](const Select& n) { return through(n.then_value); },
        [&](const Binary& n) {
          if (n.op == BinaryOp::Div) {
            const std::int64_t* divisor = as_int(n.b);
            return add_terms(
                n.a, divisor && *divisor != 0 ? factor / static_cast<double>(*divisor) : factor,
                *this);
          }
          const Movement a = movement_of(n.a, lets), b = movement_of(n.b, lets);
          sum.add(a.terms.size() >= b.terms.size() ? a : b, factor);
          return true;
        },
        [](const OneOf<IntImm, FloatImm, Unary, MulAdd, Intrinsic, Reinterpret, Load> auto&) {
          return true;
        });
  }
};

// leaf(expr): the form where it is plain to see. Sums and differences of such forms, and
// products with a constant, have one, too.
template <typename Leaf>
std::optional<Strided> strided(const Expr& expr, const Leaf& leaf) {
  if (std::optional<Strided> form = leaf(expr)) return form;
  const auto* op = std::get_if<Binary>(&expr->node);
  if (!op) return std::nullopt;
  const auto a = strided(op->a, leaf), b = strided(op->b, leaf);
  if (!a || !b) return std::nullopt;
  switch (op->op) {
    case BinaryOp::Add:
      return Strided{a->base + b->base, a->stride + b->stride};
    case BinaryOp::Sub:
      return Strided{a->base - b->base, a->stride - b->stride};
    case BinaryOp::Mul:
      if (b->stride == 0 && as_int(b->base)) {
        return Strided{a->base * b->base, a->stride * *as_int(b->base)};
      }
      if (a->stride == 0 && as_int(a->base)) {
        return Strided{a->base * b->base, b->stride * *as_int(a->base)};
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

bool same_in_each_lane(const std::vector<std::int64_t>& offsets) {
  return std::all_of(offsets.begin(), offsets.end(),
                     [&](std::int64_t offset) { return offset == offsets[0]; });
}

}  // namespace

Expr Affine::expr(DataType type) const {
  Expr sum = int_imm(0, type);
  for (const auto& [var, c] : terms) {
    if (c < 0 && !as_int(sum)) {
      sum = sum - var_ref(var) * int_imm(-c, type);
    } else {
      sum = sum + var_ref(var) * int_imm(c, type);
    }
  }
  return plus(sum, constant);
}

Expr plus(const Expr& expr, std::int64_t constant) {
  return constant < 0 && !as_int(expr) ? expr - int_imm(-constant, expr->type)
                                       : expr + int_imm(constant, expr->type);
}

namespace {

// variable * coefficient, the latter not 0.
bool is_term(const Expr& expr, const Var& var, std::int64_t coefficient) {
  const auto* product = std::get_if<Binary>(&expr->node);
  if (!product) {
    const auto* ref = std::get_if<VarRef>(&expr->node);
    return coefficient == 1 && ref && ref->var == var;
  }
  const std::int64_t* factor = as_int(product->b);
  return product->op == BinaryOp::Mul && coefficient != 1 && factor && *factor == coefficient &&
         is_term(product->a, var, 1);
}

}  // namespace

bool Affine::is_written_as(const Expr& expr) const {
  const Expr* rest = &expr;
  // From the last summand on: what is added, or taken away where it is negative.
  const auto ends_with = [&](std::int64_t sign, const auto& is_last) {
    const auto* sum = std::get_if<Binary>(&(*rest)->node);
    if (!sum || sum->op != (sign < 0 ? BinaryOp::Sub : BinaryOp::Add) || !is_last(sum->b)) {
      return false;
    }
    rest = &sum->a;
    return true;
  };
  const auto is_constant = [&](const Expr& e, std::int64_t value) {
    const std::int64_t* c = as_int(e);
    return c && *c == value;
  };
  if (terms.empty()) return is_constant(expr, constant);
  if (constant != 0 && !ends_with(constant, [&](const Expr& e) {
        return is_constant(e, constant < 0 ? -constant : constant);
      })) {
    return false;
  }
  for (std::size_t i = terms.size(); i-- > 1;) {
    const auto& [var, c] = terms[i];
    if (!ends_with(c, [&](const Expr& e) { return is_term(e, var, c < 0 ? -c : c); })) return false;
  }
  return is_term(*rest, terms.front().first, terms.front().second);
}

std::optional<Affine> affine_of(const Expr& expr) {
  if (!expr->type.is_int() || expr->type.lanes != 1) return std::nullopt;
  Exact exact;
  if (!add_terms(expr, std::int64_t{1}, exact)) return std::nullopt;
  return std::move(exact.sum);
}

LeafSum leaf_sum_of(const Expr& expr) {
  AnyLeaf any;
  add_terms(expr, std::int64_t{1}, any);
  return std::move(any.sum);
}

Movement movement_of(const Expr& index, const Movements& lets) {
  Approximate approximate{lets, {}};
  add_terms(index, 1.0, approximate);
  return std::move(approximate.sum);
}

std::optional<Strided> strided_along(const Expr& expr, const Var& var, const Expr& begin) {
  return strided(expr, [&](const Expr& e) -> std::optional<Strided> {
    if (!mentions(e, var)) return Strided{e, 0};
    if (std::get_if<VarRef>(&e->node)) return Strided{begin, 1};
    return std::nullopt;
  });
}

std::optional<Strided> strided_lanes(const Expr& vector) {
  return strided(vector, [](const Expr& e) -> std::optional<Strided> {
    if (const auto* ramp = std::get_if<Ramp>(&e->node)) return Strided{ramp->base, ramp->stride};
    if (const auto* copies = std::get_if<Broadcast>(&e->node)) return Strided{copies->value, 0};
    if (const std::int64_t* c = as_int(e)) return Strided{int_imm(*c, e->type.element()), 0};
    return std::nullopt;
  });
}

std::optional<LaneOffsets> lane_offsets(const Expr& expr) {
  const auto lanes = static_cast<std::size_t>(expr->type.lanes);
  if (const std::int64_t* constant = as_int(expr)) {
    return LaneOffsets{int_imm(0, expr->type.element()),
                       std::vector<std::int64_t>(lanes, *constant)};
  }
  if (const std::optional<Strided> ramp = strided_lanes(expr)) {
    const std::int64_t* constant = as_int(ramp->base);
    LaneOffsets form{constant ? int_imm(0, expr->type.element()) : ramp->base, {}};
    for (std::size_t i = 0; i < lanes; ++i) {
      form.offsets.push_back((constant ? *constant : 0) +
                             static_cast<std::int64_t>(i) * ramp->stride);
    }
    return form;
  }
  const auto* binary = std::get_if<Binary>(&expr->node);
  if (binary == nullptr) return std::nullopt;
  std::optional<LaneOffsets> a = lane_offsets(binary->a), b = lane_offsets(binary->b);
  if (!a || !b) return std::nullopt;
  const auto each = [&](const Expr& base, const auto& f) {
    LaneOffsets form{base, {}};
    for (std::size_t i = 0; i < lanes; ++i) form.offsets.push_back(f(a->offsets[i], b->offsets[i]));
    return form;
  };
  const std::int64_t *a_base = as_int(a->base), *b_base = as_int(b->base);
  switch (binary->op) {
    case BinaryOp::Add:
      return each(a->base + b->base, [](auto x, auto y) { return x + y; });
    case BinaryOp::Sub:
      return each(a->base - b->base, [](auto x, auto y) { return x - y; });
    case BinaryOp::Mul:
      if (!b_base || !same_in_each_lane(b->offsets)) return std::nullopt;
      return each(a->base * int_imm(b->offsets[0], a->base->type),
                  [](auto x, auto y) { return x * y; });
    case BinaryOp::Div:
      if (!a_base || !b_base || std::ranges::min(b->offsets) < 1) return std::nullopt;
      return each(a->base,
                  [](auto x, auto y) { return *fold_int(BinaryOp::Div, x, y, Scalar::Int64); });
    case BinaryOp::Mod:
      if (!a_base || !b_base || std::ranges::min(b->offsets) < 1) return std::nullopt;
      return each(a->base,
                  [](auto x, auto y) { return *fold_int(BinaryOp::Mod, x, y, Scalar::Int64); });
    default:
      return std::nullopt;
  }
}

std::optional<Interval> bounds_of(const Expr& expr, const Ranges& ranges) {
  if (const std::int64_t* c = as_int(expr)) return Interval{*c, *c};
  if (const auto* ref = std::get_if<VarRef>(&expr->node)) {
    auto it = ranges.find(ref->var);
    if (it == ranges.end()) return std::nullopt;
    return it->second;
  }
  // Affine forms are bounded term by term, which is exact where a variable occurs twice.
  if (auto form = affine_of(expr)) {
    Interval sum{form->constant, form->constant};
    for (const auto& [var, c] : form->terms) {
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

Interval index_bounds(const Expr& expr, const Ranges& ranges) {
  if (const auto known = bounds_of(expr, ranges)) return *known;
  constexpr Interval kAny{std::numeric_limits<std::int64_t>::min(),
                          std::numeric_limits<std::int64_t>::max()};
  if (const auto* cast = std::get_if<Cast>(&expr->node)) {
    const Interval from = index_bounds(cast->value, ranges);
    const bool fits = wrap(from.low, expr->type.scalar) == from.low &&
                      wrap(from.high, expr->type.scalar) == from.high;
    return expr->type.is_int() && cast->value->type.is_int() && fits ? from : kAny;
  }
  const auto* op = std::get_if<Binary>(&expr->node);
  if (op && (op->op == BinaryOp::Min || op->op == BinaryOp::Max)) {
    const Interval a = index_bounds(op->a, ranges), b = index_bounds(op->b, ranges);
    if (op->op == BinaryOp::Min) return {std::min(a.low, b.low), std::min(a.high, b.high)};
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  }
  return kAny;
}

Parts parts_of(const Affine& form,
               const std::function<std::optional<Interval>(const Var&)>& range_of) {
  Parts parts{{}, {form.constant, form.constant}};
  for (const auto& [var, c] : form.terms) {
    if (const auto range = range_of(var)) {
      parts.moving.low += std::min(c * range->low, c * range->high);
      parts.moving.high += std::max(c * range->low, c * range->high);
    } else {
      parts.fixed.add(var, c);
    }
  }
  return parts;
}

}  // namespace fettle::ir
