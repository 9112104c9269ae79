// The pass that pins tiles to the border (pin_border.h).
#include "host/lower/pin_border.h"

#include <numeric>
#include <set>
#include <vector>

#include "host/ir/conditions.h"
#include "host/ir/mutator.h"
#include "host/lower/least.h"

namespace fettle::lower {

namespace {

constexpr std::int64_t kLongestWindow = 8;  // that is unrolled

// 1 or -1: `form` moves with `place` or against it; 0: otherwise.
int direction(const ir::Affine& form, const ir::Affine& place) {
  for (const int sign : {1, -1}) {
    ir::Affine rest = form;
    rest.add(place, -sign);
    if (rest.terms.empty()) return sign;
  }
  return 0;
}

// The part of a form that is made of what the tile does not bind.
ir::Affine outer_part(const ir::Affine& form, const Bound& inside) {
  ir::Affine outer;
  for (const auto& [var, c] : form.terms) {
    if (!inside.ranges.count(var)) outer.add(var, c);
  }
  return outer;
}

// Where the tiles of a row lie: place is one of low, low + step, … high. Below `first` and above
// `last` they reach into the padding.
struct Row {
  ir::Affine place;
  std::int64_t low, high, first, last;
};

// The conditions of a tile's loads, rewritten for one place of it.
class Decide : public ir::Mutator {
 public:
  // at: empty: the conditions on the place hold.
  Decide(const Row& row, const Bound& inside, std::optional<std::int64_t> at)
      : row_(row), inside_(inside), at_(at) {}
  using ir::Mutator::mutate;

  ir::Expr mutate(const ir::Expr& expr) override {
    const auto* load = expr ? std::get_if<ir::Load>(&expr->node) : nullptr;
    if (!load || !load->predicate) return ir::Mutator::mutate(expr);
    std::vector<ir::Expr> parts = ir::conjuncts(load->predicate);
    for (ir::Expr& part : parts) part = decided(part);
    return ir::load(load->buffer, mutate_all(load->indices), ir::all_of(parts), expr->type.lanes);
  }
  ir::Stmt mutate(const ir::Stmt& stmt) override {
    const auto* loop = stmt ? std::get_if<ir::For>(&stmt->node) : nullptr;
    if (!loop) return ir::Mutator::mutate(stmt);
    const ir::Stmt body = mutate(loop->body);
    const bool unrolls = at_ && asked_.count(loop->var) && loop->kind == ir::ForKind::Serial;
    return ir::make_for(loop->var, loop->min, loop->extent,
                        unrolls ? ir::ForKind::Unrolled : loop->kind, body, loop->axis);
  }

 private:
  ir::Expr decided(const ir::Expr& part) {
    auto slack = ir::slack_of(part);
    if (!slack) return part;
    const int sign = direction(outer_part(*slack, inside_), row_.place);
    if (sign == 0) return part;
    if (!at_) return ir::bool_imm(true);
    slack->add(row_.place, -sign);
    slack->constant += sign * *at_;
    for (const auto& [var, c] : slack->terms) asked_.insert(var);
    return ir::binary(ir::BinaryOp::Le, ir::int_imm(0), slack->expr());
  }

  const Row& row_;
  const Bound& inside_;
  const std::optional<std::int64_t> at_;
  std::set<ir::Var> asked_;  // by conditions rewritten so far, which lie further inside
};

class PinBorder : public ir::Mutator {
 public:
  using ir::Mutator::mutate;

  ir::Stmt mutate(const ir::Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* loop = std::get_if<ir::For>(&stmt->node)) {
      const std::int64_t *min = ir::as_int(loop->min), *extent = ir::as_int(loop->extent);
      if (min && extent && *extent > 0) ranges_[loop->var] = {*min, *min + *extent - 1};
    } else if (const auto* let = std::get_if<ir::Let>(&stmt->node)) {
      if (const auto range = ir::bounds_of(let->value, ranges_)) ranges_[let->var] = *range;
    } else if (const auto* tile = std::get_if<ir::Allocate>(&stmt->node)) {
      if (tile->buffer->scope == ir::Scope::Register) return pinned(stmt, tile->body);
    }
    return ir::Mutator::mutate(stmt);
  }

 private:
  ir::Stmt pinned(const ir::Stmt& stmt, const ir::Stmt& body) const {
    const Bound inside = bound_in(body);
    const auto row = row_of(body, inside);
    if (!row) return stmt;
    const auto version = [&](std::optional<std::int64_t> at) {
      return Decide(*row, inside, at).mutate(stmt);
    };
    const ir::Expr place = row->place.expr();
    ir::Stmt made = version(std::nullopt);
    if (row->high > row->last) {
      made = ir::make_if(ir::binary(ir::BinaryOp::Le, place, ir::int_imm(row->last)), made,
                         version(row->high));
    }
    if (row->low < row->first) {
      made = ir::make_if(ir::binary(ir::BinaryOp::Le, ir::int_imm(row->first), place), made,
                         version(row->low));
    }
    return made;
  }

  // What the conditions of the body's loads say of where its tile lies. Nothing: they speak of
  // more than one direction, or do not fit (pin_border.h).
  std::optional<Row> row_of(const ir::Stmt& body, const Bound& inside) const {
    std::vector<ir::Expr> parts;
    ir::walk(body, nullptr, [&](const ir::Expr& e) {
      const auto* load = std::get_if<ir::Load>(&e->node);
      if (!load || !load->predicate) return;
      for (ir::Expr& part : ir::conjuncts(load->predicate)) parts.push_back(std::move(part));
    });
    std::optional<Row> row;
    for (const ir::Expr& part : parts) {
      const auto slack = ir::slack_of(part), least = least_of(part, inside);
      if (!slack || !least || !is_unrollable(*slack, body, inside)) return std::nullopt;
      if (!row) {
        row = begun(outer_part(*slack, inside));
        if (!row) return std::nullopt;
      }
      const int sign = direction(outer_part(*slack, inside), row->place);
      if (sign == 0) return std::nullopt;
      if (sign > 0) {
        row->first = std::max(row->first, -least->constant);
      } else {
        row->last = std::min(row->last, least->constant);
      }
    }
    if (!row) return std::nullopt;
    // One tile at most on each side, and not the same one.
    std::int64_t step = 0;
    for (const auto& [var, c] : row->place.terms) step = std::gcd(step, c);
    const bool one = row->low + step >= row->first && row->high - step <= row->last &&
                     row->low <= row->last && row->high >= row->first;
    return one ? row : std::nullopt;
  }

  std::optional<Row> begun(const ir::Affine& place) const {
    if (place.terms.empty()) return std::nullopt;
    const auto range = ir::bounds_of(place.expr(), ranges_);
    if (!range) return std::nullopt;
    return Row{place, range->low, range->high, range->low, range->high};
  }

  // Its variables inside the tile are those of loops that are unrolled, or short.
  static bool is_unrollable(const ir::Affine& slack, const ir::Stmt& body, const Bound& inside) {
    bool fits = true;
    for (const auto& [var, c] : slack.terms) fits &= !inside.unknown.count(var);
    ir::walk(
        body,
        [&](const ir::Stmt& s) {
          const auto* loop = std::get_if<ir::For>(&s->node);
          if (!loop || slack.coefficient(loop->var) == 0) return;
          const std::int64_t* extent = ir::as_int(loop->extent);
          fits &= loop->kind == ir::ForKind::Unrolled ||
                  (loop->kind == ir::ForKind::Serial && extent && *extent <= kLongestWindow);
        },
        nullptr);
    return fits;
  }

  ir::Ranges ranges_;  // of variables around the statement at hand
};

}  // namespace

ir::Stmt pin_border(const ir::Stmt& stmt) { return PinBorder().mutate(stmt); }

}  // namespace fettle::lower
