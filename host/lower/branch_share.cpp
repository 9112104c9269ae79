// Branch shares (branch_share.h).
#include "host/lower/branch_share.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <set>
#include <span>

#include "host/ir/fold.h"

namespace fettle::lower {
namespace {

constexpr std::int64_t kPoints = 512;  // iterations looked at, at most

// Iterations of some of the loops: all of them, or kPoints that lie evenly.
class Points {
 public:
  Points(const std::vector<CountedLoop>& loops, const std::set<std::size_t>& used) : loops_(loops) {
    for (const std::size_t i : used) {
      places_.push_back({i, total_, places_.size()});
      total_ = std::min(total_ * extent(i), kPoints + 1);
    }
  }
  std::int64_t count() const { return std::min(total_, kPoints); }

  // The places of the points along a loop that is used, by point.
  void along(std::size_t loop, std::span<std::int64_t> out) const {
    const auto place = std::find_if(places_.begin(), places_.end(),
                                    [&](const Place& one) { return one.loop == loop; });
    assert(place != places_.end());
    // Kronecker's sequence: multiples of roots of primes, modulo 1, fill a cube evenly.
    static constexpr double kRoots[] = {1.4142135623730951, 1.7320508075688772, 2.23606797749979,
                                        2.6457513110645907, 3.3166247903554,    3.605551275463989};
    const std::int64_t trips = extent(loop);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto number = static_cast<std::int64_t>(i);
      std::int64_t step = number / place->inner % trips;
      if (total_ > kPoints) {
        const double turns = (double(number) + 0.5) * kRoots[place->axis % 6];
        const double share = turns - double(static_cast<std::int64_t>(turns));
        step = std::min(trips - 1, static_cast<std::int64_t>(share * double(trips)));
      }
      out[i] = loops_[loop].begin + step;
    }
  }

 private:
  struct Place {
    std::size_t loop;
    std::int64_t inner;  // iterations of the places before it
    std::size_t axis;
  };
  std::int64_t extent(std::size_t loop) const {
    return std::max<std::int64_t>(loops_[loop].extent, 1);
  }
  const std::vector<CountedLoop>& loops_;
  std::vector<Place> places_;  // of the loops that are used
  std::int64_t total_ = 1;
};

// Integer expressions as steps, each of which uses what earlier ones gave.
class Steps {
 public:
  explicit Steps(const Surroundings& around) : around_(around), of_loop_(around.loops.size()) {}

  // The step that gives this expression. Empty: it rests on something other than the loops.
  std::optional<std::size_t> add(const ir::Expr& e) {
    if (const std::int64_t* value = ir::as_int(e)) return push({.value = *value});
    if (const auto* n = std::get_if<ir::VarRef>(&e->node)) return variable(n->var);
    if (const auto* n = std::get_if<ir::Unary>(&e->node); n && n->op == ir::UnaryOp::Not) {
      const auto a = add(n->a);
      const auto zero = push({.value = 0});
      if (!a) return std::nullopt;
      return push({Kind::Binary, ir::BinaryOp::Eq, *a, zero});
    }
    const auto* n = std::get_if<ir::Binary>(&e->node);
    if (!n) return std::nullopt;
    const auto a = add(n->a), b = add(n->b);
    if (!a || !b) return std::nullopt;
    return push({Kind::Binary, n->op, *a, *b});
  }
  // Places of the loops that the last expressions rest on, since forget_used().
  const std::set<std::size_t>& used() const { return used_; }
  void forget_used() { used_.clear(); }

  std::size_t count() const { return steps_.size(); }
  void shorten(std::size_t count) {
    steps_.resize(count);
    for (auto& step : of_loop_) {
      if (step && *step >= count) step.reset();
    }
  }

  // Of every point of `points` at once.
  void run(const Points& points) {
    const auto count = static_cast<std::size_t>(points.count());
    count_ = count;
    values_ = std::make_unique_for_overwrite<std::int64_t[]>(steps_.size() * count);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      const std::span out = values(i);
      if (step.kind == Kind::Constant) {
        std::fill(out.begin(), out.end(), step.value);
      } else if (step.kind == Kind::Loop) {
        points.along(step.a, out);
      } else {
        ir::fold_each(step.op, values(step.a), values(step.b), out);
      }
    }
  }
  // By point, after run().
  std::span<std::int64_t> values(std::size_t step) {
    return {values_.get() + step * count_, count_};
  }

 private:
  enum class Kind { Constant, Loop, Binary };
  struct Step {
    Kind kind = Kind::Constant;
    ir::BinaryOp op = ir::BinaryOp::Add;
    std::size_t a = 0, b = 0;
    std::int64_t value = 0;
  };

  std::size_t push(Step step) {
    steps_.push_back(step);
    return steps_.size() - 1;
  }

  std::optional<std::size_t> variable(const ir::Var& var) {
    for (std::size_t i = 0; i < around_.loops.size(); ++i) {
      if (around_.loops[i].var != var) continue;
      used_.insert(i);
      if (!of_loop_[i]) of_loop_[i] = push({Kind::Loop, ir::BinaryOp::Add, i});
      return of_loop_[i];
    }
    const auto let = around_.lets.find(var);
    if (let == around_.lets.end()) return std::nullopt;
    return add(let->second);
  }

  const Surroundings& around_;
  std::vector<Step> steps_;
  std::vector<std::optional<std::size_t>> of_loop_;
  std::size_t count_ = 0;                   // points
  std::unique_ptr<std::int64_t[]> values_;  // [step][point]
  std::set<std::size_t> used_;
};

}  // namespace

std::optional<double> branch_share(const ir::Expr& condition, const Surroundings& around) {
  Steps steps(around);
  const auto asked = steps.add(condition);
  if (!asked) return std::nullopt;
  std::set<std::size_t> used = steps.used();
  std::vector<std::pair<std::size_t, bool>> before;  // steps, and what they must give
  for (auto one = around.path.rbegin(); one != around.path.rend(); ++one) {
    steps.forget_used();
    const std::size_t before_it = steps.count();
    const auto test = steps.add(one->condition);
    const auto in_common = [&](std::size_t loop) { return used.contains(loop); };
    if (!test || std::none_of(steps.used().begin(), steps.used().end(), in_common)) {
      steps.shorten(before_it);
      continue;
    }
    used.insert(steps.used().begin(), steps.used().end());
    before.emplace_back(*test, one->holds);
  }
  Points points(around.loops, used);
  steps.run(points);
  std::int64_t reached = 0, taken = 0;
  const std::span<const std::int64_t> answers = steps.values(*asked);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto passed = [&](const auto& test) {
      return (steps.values(test.first)[i] != 0) == test.second;
    };
    if (!std::all_of(before.begin(), before.end(), passed)) continue;
    ++reached;
    taken += answers[i] != 0;
  }
  return reached > 0 ? double(taken) / double(reached) : 0;
}

}  // namespace fettle::lower
