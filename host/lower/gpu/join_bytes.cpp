// Joining bytes (join_bytes.h).
#include "host/lower/gpu/join_bytes.h"

#include <algorithm>
#include <array>
#include <optional>

#include "host/ir/affine.h"
#include "host/ir/equal.h"
#include "host/ir/mutator.h"

namespace fettle::lower {

namespace {

constexpr int kBytes = 4;
using Four = std::array<const ir::Load*, kBytes>;  // by place in the int32, the lowest first

// A byte in its place, or a sum of such; false: it is something else, or a place is taken.
bool take(const ir::Expr& e, Four& four) {
  if (const auto* sum = std::get_if<ir::Binary>(&e->node)) {
    if (sum->op == ir::BinaryOp::Add) return take(sum->a, four) && take(sum->b, four);
  }
  std::int64_t bits = 0;
  ir::Expr byte = e;
  if (const auto* shifted = std::get_if<ir::Binary>(&e->node)) {
    const std::int64_t* by = ir::as_int(shifted->b);
    if (shifted->op != ir::BinaryOp::ShiftLeft || !by) return false;
    bits = *by, byte = shifted->a;
  }
  const auto* wide = std::get_if<ir::Cast>(&byte->node);
  const auto* plain = wide ? std::get_if<ir::Cast>(&wide->value->node) : nullptr;
  const auto* load = plain ? std::get_if<ir::Load>(&plain->value->node) : nullptr;
  if (!load || wide->value->type.scalar != ir::Scalar::UInt8 ||
      load->buffer->type.scalar != ir::Scalar::Int8 || bits % 8 != 0 || bits < 0 ||
      bits >= 8 * kBytes) {
    return false;
  }
  const ir::Load*& place = four[std::size_t(bits / 8)];
  if (place) return false;
  place = load;
  return true;
}

bool same(const ir::Expr& a, const ir::Expr& b) { return a && b ? ir::equal(a, b) : !a && !b; }

// Whether `sum` is `steps` more than `first`, which it else equals.
bool apart_by(const ir::LeafSum& first, const ir::LeafSum& sum, std::int64_t steps) {
  if (sum.constant - first.constant != steps || sum.terms.size() != first.terms.size())
    return false;
  for (const auto& [leaf, factor] : first.terms) {
    const bool there = std::any_of(sum.terms.begin(), sum.terms.end(),
                                   [&, &leaf = leaf, &factor = factor](const auto& other) {
                                     return other.second == factor && ir::equal(other.first, leaf);
                                   });
    if (!there) return false;
  }
  return true;
}

std::optional<ir::Expr> whole(const Four& four) {
  const ir::Load& first = *four[0];
  if (first.indices.size() != 1) return std::nullopt;
  const ir::LeafSum begin = ir::leaf_sum_of(first.indices[0]);
  bool aligned = begin.constant % kBytes == 0;
  for (const auto& term : begin.terms) aligned &= term.second % kBytes == 0;
  if (!aligned) return std::nullopt;
  for (int i = 1; i < kBytes; ++i) {
    const ir::Load& load = *four[std::size_t(i)];
    if (load.buffer != first.buffer || load.indices.size() != 1 ||
        !same(load.predicate, first.predicate) ||
        !apart_by(begin, ir::leaf_sum_of(load.indices[0]), i)) {
      return std::nullopt;
    }
  }
  return ir::reinterpret(
      ir::kInt32,
      ir::load(first.buffer, {ir::ramp(first.indices[0], 1, kBytes)},
               first.predicate ? ir::broadcast(first.predicate, kBytes) : nullptr, kBytes));
}

class Join : public ir::Mutator {
 public:
  using ir::Mutator::mutate;
  ir::Expr mutate(const ir::Expr& expr) override {
    const auto* sum = expr ? std::get_if<ir::Binary>(&expr->node) : nullptr;
    if (sum && sum->op == ir::BinaryOp::Add && expr->type == ir::kInt32) {
      Four four{};
      if (take(expr, four) && four[0] && four[1] && four[2] && four[3]) {
        if (auto joined = whole(four)) return *joined;
      }
    }
    return ir::Mutator::mutate(expr);
  }
};

}  // namespace

ir::Stmt join_bytes(const ir::Stmt& stmt) { return Join().mutate(stmt); }

}  // namespace fettle::lower
