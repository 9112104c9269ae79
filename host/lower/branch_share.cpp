// Branch shares (branch_share.h).
#include "host/lower/branch_share.h"

#include <algorithm>
#include <set>

#include "host/ir/fold.h"

namespace fettle::lower {
namespace {

constexpr std::int64_t kPoints = 512;  // iterations looked at, at most

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

  // By loop; value() of all steps then.
  void run(const std::vector<std::int64_t>& point) {
    values_.resize(steps_.size());
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      values_[i] = step.kind == Kind::Constant ? step.value
                   : step.kind == Kind::Loop
                       ? point[step.a]
                       : ir::fold_int(step.op, values_[step.a], values_[step.b], ir::Scalar::Int64)
                             .value_or(0);
    }
  }
  std::int64_t value(std::size_t step) const { return values_[step]; }

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
  std::vector<std::int64_t> values_;
  std::set<std::size_t> used_;
};

// Iterations of some of the loops: all of them, or kPoints that lie evenly.
class Points {
 public:
  Points(const std::vector<CountedLoop>& loops, const std::set<std::size_t>& used)
      : loops_(loops), used_(used), point_(loops.size(), 0) {
    for (const std::size_t i : used) total_ = std::min(total_ * extent(i), kPoints + 1);
  }
  std::int64_t count() const { return std::min(total_, kPoints); }

  const std::vector<std::int64_t>& at(std::int64_t number) {
    // Kronecker's sequence: multiples of roots of primes, modulo 1, fill a cube evenly.
    static constexpr double kRoots[] = {1.4142135623730951, 1.7320508075688772, 2.23606797749979,
                                        2.6457513110645907, 3.3166247903554,    3.605551275463989};
    std::int64_t rest = number;
    std::size_t axis = 0;
    for (const std::size_t i : used_) {
      std::int64_t step = rest % extent(i);
      rest /= extent(i);
      if (total_ > kPoints) {
        const double turns = (double(number) + 0.5) * kRoots[axis++ % 6];
        const double share = turns - double(static_cast<std::int64_t>(turns));
        step = std::min(extent(i) - 1, static_cast<std::int64_t>(share * double(extent(i))));
      }
      point_[i] = loops_[i].begin + step;
    }
    return point_;
  }

 private:
  std::int64_t extent(std::size_t loop) const {
    return std::max<std::int64_t>(loops_[loop].extent, 1);
  }
  const std::vector<CountedLoop>& loops_;
  const std::set<std::size_t>& used_;
  std::vector<std::int64_t> point_;
  std::int64_t total_ = 1;
};

}  // namespace

std::optional<double> branch_share(const ir::Expr& condition, const Surroundings& around) {
  Steps steps(around);
  const auto asked = steps.add(condition);
  if (!asked) return std::nullopt;
  std::set<std::size_t> used = steps.used();
  std::vector<std::pair<std::size_t, bool>> before;
  for (auto one = around.path.rbegin(); one != around.path.rend(); ++one) {
    steps.forget_used();
    const auto test = steps.add(one->condition);
    const auto in_common = [&](std::size_t loop) { return used.contains(loop); };
    if (!test || std::none_of(steps.used().begin(), steps.used().end(), in_common)) continue;
    used.insert(steps.used().begin(), steps.used().end());
    before.emplace_back(*test, one->holds);
  }
  Points points(around.loops, used);
  std::int64_t reached = 0, taken = 0;
  for (std::int64_t i = 0; i < points.count(); ++i) {
    steps.run(points.at(i));
    const auto passed = [&](const auto& test) {
      return (steps.value(test.first) != 0) == test.second;
    };
    if (!std::all_of(before.begin(), before.end(), passed)) continue;
    ++reached;
    taken += steps.value(*asked) != 0;
  }
  return reached > 0 ? double(taken) / double(reached) : 0;
}

}  // namespace fettle::lower
