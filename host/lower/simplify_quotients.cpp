// Quotients and remainders of sums (simplify_quotients.h).
#include "host/lower/simplify_quotients.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "host/ir/affine.h"
#include "host/ir/equal.h"
#include "host/ir/mutator.h"
#include "host/ir/simplify.h"

namespace fettle::lower {

namespace {

const ir::Binary* as_binary(const ir::Expr& e, ir::BinaryOp op) {
  const auto* n = std::get_if<ir::Binary>(&e->node);
  return n && n->op == op ? n : nullptr;
}

// A leaf as (what / divisor) % modulus; modulus 0: no remainder is taken.
struct Digit {
  ir::Expr what;
  std::int64_t divisor = 1, modulus = 0;
};

Digit digit_of(const ir::Expr& leaf) {
  Digit digit{leaf};
  if (const auto* rest = as_binary(digit.what, ir::BinaryOp::Mod); rest && ir::as_int(rest->b)) {
    digit.modulus = *ir::as_int(rest->b), digit.what = rest->a;
  }
  if (const auto* part = as_binary(digit.what, ir::BinaryOp::Div); part && ir::as_int(part->b)) {
    digit.divisor = *ir::as_int(part->b), digit.what = part->a;
  }
  return digit;
}

ir::Expr expr_of(const ir::LeafSum& sum, ir::DataType type) {
  ir::Expr out;
  for (const auto& [leaf, factor] : sum.terms) {
    const ir::Expr term = factor == 1 ? leaf : leaf * ir::int_imm(factor, type);
    out = out ? out + term : term;
  }
  if (!out) return ir::int_imm(sum.constant, type);
  return sum.constant == 0 ? out : out + ir::int_imm(sum.constant, type);
}

class Quotients : public ir::Mutator {
 public:
  explicit Quotients(ir::Ranges ranges = {}) : ranges_(std::move(ranges)) {}
  using ir::Mutator::mutate;

  ir::Expr mutate(const ir::Expr& expr) override {
    if (!expr) return expr;
    const ir::Expr e = ir::Mutator::mutate(expr);
    if (e->type != ir::kInt32) return e;
    const auto* op = std::get_if<ir::Binary>(&e->node);
    if (!op) return e;
    if (op->op == ir::BinaryOp::Div || op->op == ir::BinaryOp::Mod) return taken_apart(e, *op);
    if (op->op == ir::BinaryOp::Add) return put_together(e);
    return e;
  }

  ir::Stmt mutate(const ir::Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* loop = std::get_if<ir::For>(&stmt->node)) {
      const std::int64_t *min = ir::as_int(loop->min), *extent = ir::as_int(loop->extent);
      if (min && extent) ranges_[loop->var] = {*min, *min + *extent - 1};
      return ir::Mutator::mutate(stmt);
    }
    if (const auto* let = std::get_if<ir::Let>(&stmt->node)) {
      if (auto range = ir::bounds_of(let->value, ranges_)) ranges_[let->var] = *range;
    }
    return ir::Mutator::mutate(stmt);
  }

 private:
  // Not of what is read, whose sums may wrap around.
  static bool reads(const ir::Expr& e) {
    bool found = false;
    ir::walk(e,
             [&](const ir::Expr& part) { found |= std::holds_alternative<ir::Load>(part->node); });
    return found;
  }

  // A sum as what is divisible by `size`, divided by it, and the rest, its constant in [0, size).
  struct Cut {
    ir::LeafSum whole, rest;
  };
  static Cut cut(const ir::LeafSum& sum, std::int64_t size) {
    Cut out;
    for (const auto& [leaf, factor] : sum.terms) {
      if (factor % size == 0) {
        out.whole.add(leaf, factor / size);
      } else {
        out.rest.add(leaf, factor);
      }
    }
    out.whole.constant = sum.constant / size, out.rest.constant = sum.constant % size;
    if (out.rest.constant < 0) out.whole.constant -= 1, out.rest.constant += size;
    return out;
  }

  ir::Expr taken_apart(const ir::Expr& e, const ir::Binary& op) {
    const std::int64_t* divisor = ir::as_int(op.b);
    if (!divisor || *divisor <= 1 || reads(op.a)) return e;
    const bool quotient = op.op == ir::BinaryOp::Div;
    const ir::LeafSum sum = ir::leaf_sum_of(op.a);
    std::set<std::int64_t, std::greater<>> sizes;  // that divide the divisor and some factor
    for (const auto& term : sum.terms) sizes.insert(std::gcd(*divisor, term.second));
    for (const std::int64_t size : sizes) {
      if (size == 1) break;
      const Cut parts = cut(sum, size);
      const ir::Expr left = expr_of(parts.rest, e->type);
      const auto range = ir::bounds_of(left, ranges_);
      if (!range || range->low < 0 || range->high >= size) continue;
      const ir::Expr whole = expr_of(parts.whole, e->type);
      if (size == *divisor) return quotient ? whole : left;
      const ir::Expr fewer =
          mutate(ir::binary(op.op, whole, ir::int_imm(*divisor / size, e->type)));
      return quotient ? fewer : fewer * ir::int_imm(size, e->type) + left;
    }
    const Cut parts = cut(sum, *divisor);
    if (parts.whole.terms.empty()) return e;
    const ir::Expr left = ir::binary(op.op, expr_of(parts.rest, e->type), op.b);
    return quotient ? expr_of(parts.whole, e->type) + left : left;
  }

  ir::Expr put_together(const ir::Expr& e) {
    ir::LeafSum sum = ir::leaf_sum_of(e);
    bool any = false;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < sum.terms.size() && !changed; ++i) {
        const Digit low = digit_of(sum.terms[i].first);
        if (low.modulus == 0) continue;
        for (std::size_t j = 0; j < sum.terms.size() && !changed; ++j) {
          const Digit high = digit_of(sum.terms[j].first);
          if (i == j || high.divisor != low.divisor * low.modulus ||
              sum.terms[j].second != sum.terms[i].second * low.modulus ||
              !ir::equal(high.what, low.what)) {
            continue;
          }
          ir::Expr both = low.what;
          const ir::DataType type = both->type;
          if (low.divisor > 1) {
            both = ir::binary(ir::BinaryOp::Div, both, ir::int_imm(low.divisor, type));
          }
          if (high.modulus > 0) {
            both =
                ir::binary(ir::BinaryOp::Mod, both, ir::int_imm(low.modulus * high.modulus, type));
          }
          const std::int64_t factor = sum.terms[i].second;
          sum.terms.erase(sum.terms.begin() + std::ptrdiff_t(std::max(i, j)));
          sum.terms.erase(sum.terms.begin() + std::ptrdiff_t(std::min(i, j)));
          sum.add(ir::leaf_sum_of(both), factor);
          changed = any = true;
        }
      }
    }
    return any ? expr_of(sum, e->type) : e;
  }

  ir::Ranges ranges_;
};

}  // namespace

ir::Stmt simplify_quotients(const ir::Stmt& stmt) { return Quotients().mutate(stmt); }
ir::Expr quotients_simplified(const ir::Expr& expr, const ir::Ranges& ranges) {
  return Quotients(ranges).mutate(expr);
}

}  // namespace fettle::lower
