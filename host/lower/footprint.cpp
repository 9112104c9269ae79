// Footprints (footprint.h).
#include "host/lower/footprint.h"

#include <algorithm>
#include <cmath>

namespace fettle::lower {

namespace {

IndexTerms scaled(IndexTerms terms, double factor) {
  for (auto& [var, coefficient] : terms) coefficient *= factor;
  return terms;
}

IndexTerms sum_of(IndexTerms a, const IndexTerms& b, double factor) {
  for (const auto& [var, coefficient] : b) a[var] += factor * coefficient;
  return a;
}

}  // namespace

IndexTerms index_terms(const ir::Expr& index, const LetTerms& lets) {
  using ir::BinaryOp;
  if (const auto* ref = std::get_if<ir::VarRef>(&index->node)) {
    const auto known = lets.find(ref->var.get());
    return known != lets.end() ? known->second : IndexTerms{{ref->var.get(), 1}};
  }
  if (const auto* ramp = std::get_if<ir::Ramp>(&index->node)) return index_terms(ramp->base, lets);
  if (const auto* same = std::get_if<ir::Broadcast>(&index->node)) {
    return index_terms(same->value, lets);
  }
  if (const auto* cast = std::get_if<ir::Cast>(&index->node)) return index_terms(cast->value, lets);
  if (const auto* select = std::get_if<ir::Select>(&index->node)) {
    return index_terms(select->then_value, lets);
  }
  const auto* n = std::get_if<ir::Binary>(&index->node);
  if (!n) return {};
  const IndexTerms a = index_terms(n->a, lets), b = index_terms(n->b, lets);
  const std::int64_t *left = ir::as_int(n->a), *right = ir::as_int(n->b);
  switch (n->op) {
    case BinaryOp::Add:
      return sum_of(a, b, 1);
    case BinaryOp::Sub:
      return sum_of(a, b, -1);
    case BinaryOp::Mul:
      if (right) return scaled(a, static_cast<double>(*right));
      if (left) return scaled(b, static_cast<double>(*left));
      return a.size() >= b.size() ? a : b;
    case BinaryOp::Div:
      return right && *right != 0 ? scaled(a, 1 / static_cast<double>(*right)) : a;
    default:  // min, max, mod
      return a.size() >= b.size() ? a : b;
  }
}

Access make_access(const ir::Buffer& buffer, const ir::Expr& index, int lanes, bool store,
                   const LetTerms& lets) {
  Access access{buffer, store, lanes, 1, index_terms(index, lets)};
  if (const auto* ramp = std::get_if<ir::Ramp>(&index->node)) {
    access.lane_stride = std::fabs(static_cast<double>(ramp->stride));
  }
  return access;
}

Footprint footprint(const Access& access, std::span<const LoopTrip> loops, double line_bytes) {
  // Steps through the buffer, smallest first; loops of one step width, such as x
  // and kw of a convolution, run over one another.
  std::map<double, double> trips;  // step in elements → values less one
  if (access.lanes > 1) trips[access.lane_stride] += access.lanes - 1;
  for (const LoopTrip& loop : loops) {
    const auto term = access.terms.find(loop.var);
    if (term == access.terms.end() || term->second == 0) continue;
    trips[std::fabs(term->second)] += loop.extent - 1;
  }
  double run = 1, runs = 1;
  for (const auto& [step, more] : trips) {
    if (step <= run) {
      run += step * more;
    } else {
      runs *= more + 1;
    }
  }
  const double size = static_cast<double>(access.buffer->elements());
  const double element = access.buffer->type.bytes();
  run = std::min(run, size);
  runs = std::min(runs, size / run);
  Footprint result;
  result.bytes = run * runs * element;
  result.run_bytes = run * element;
  result.lines = runs * std::max(1.0, run * element / line_bytes);
  return result;
}

}  // namespace fettle::lower
