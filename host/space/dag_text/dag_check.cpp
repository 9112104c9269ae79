// Checks of compute DAGs from outside (dag_check.h).
#include "host/space/dag_text/dag_check.h"

#include <cmath>
#include <set>
#include <unordered_map>

#include "host/ir/conditions.h"
#include "host/ir/mutator.h"
#include "host/ir/visit.h"

namespace fettle::space {
namespace {

constexpr std::size_t kMostStages = 256, kMostAxes = 12;
constexpr double kMostOperations = 200'000;
constexpr std::int64_t kMostElements = std::int64_t{1} << 30;  // generated code counts in int32

Error wrong(const Stage& stage, const std::string& what) {
  return Error{ErrorCode::InvalidArgument, "stage \"" + stage.name + "\" " + what};
}

bool is_name(const std::string& name) {
  if (name.empty() || name.size() > 64) return false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = (c >= '0' && c <= '9') || c == '.';
    if (!letter && !(digit && &c != name.data())) return false;
  }
  return true;
}

Result<void> check_axes(const Stage& stage) {
  if (stage.axes.empty()) return wrong(stage, "has no axes");
  if (stage.axes.size() + stage.reduce_axes.size() > kMostAxes) {
    return wrong(stage, "has more than " + std::to_string(kMostAxes) + " axes");
  }
  std::set<std::string> names;
  double iterations = 1;
  for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
    for (const Axis& axis : *axes) {
      if (!is_name(axis.name)) return wrong(stage, "has an axis without a proper name");
      if (!names.insert(axis.name).second) return wrong(stage, "has two axes " + axis.name);
      if (axis.extent < 1 || axis.extent > kMostElements) {
        return wrong(stage, "has axis " + axis.name + " of " + std::to_string(axis.extent));
      }
      iterations *= double(axis.extent);
    }
  }
  if (iterations > 0x1p60) return wrong(stage, "has too many iterations");
  double elements = 1, values = 1;
  for (const std::int64_t extent : stage.buffer->shape) elements *= double(extent);
  for (const Axis& axis : stage.axes) values *= double(axis.extent);
  if (elements > double(kMostElements)) return wrong(stage, "has more than 2^30 elements");
  if (elements != values) return wrong(stage, "stores another number of values than it has");
  return {};
}

// Operations of an expression, where each that several use counts for each of them: some of what
// is done with a body visits it so.
double written_out(const ir::Expr& e, std::unordered_map<ir::Expr, double>& known) {
  if (const auto found = known.find(e); found != known.end()) return found->second;
  double all = 1;
  ir::for_each_child(e, [&](const ir::Expr& child) { all += written_out(child, known); });
  return known[e] = all;
}

Result<void> check_size(const Stage& stage) {
  if (stage.placeholder()) return {};
  std::unordered_map<ir::Expr, double> known;
  if (written_out(stage.body, known) <= kMostOperations) return {};
  return wrong(stage, "has more than 200,000 operations, where each use of a let counts");
}

class Loads {
 public:
  Loads(const ComputeDag& dag, std::size_t stage) : stage_(dag.stages[stage]) {
    for (std::size_t i = 0; i < stage; ++i) {
      earlier_.insert(dag.stages[i].buffer);
      if (dag.stages[i].placeholder()) given_.insert(dag.stages[i].buffer);
    }
    for (const auto* axes : {&stage_.axes, &stage_.reduce_axes}) {
      for (const Axis& axis : *axes) ranges_[axis.var] = {0, axis.extent - 1};
    }
  }

  Result<void> check(std::set<ir::Buffer>& read) {
    Result<void> found;
    ir::walk(stage_.body, [&](const ir::Expr& e) {
      if (const auto* load = std::get_if<ir::Load>(&e->node); load && found) {
        read.insert(load->buffer);
        found = check(*load);
      }
      if (const auto* ref = std::get_if<ir::VarRef>(&e->node); ref && found) {
        if (!ranges_.count(ref->var)) found = wrong(stage_, "reads an axis that it does not have");
      }
    });
    if (!found) return found;
    ir::walk(stage_.body, [&](const ir::Expr& e) {
      if (found && leaves_its_type(e)) {
        found = wrong(stage_, "computes of its axes what " + ir::to_string(e->type) +
                                  " does not hold: with int64(…) it does");
      }
    });
    return found;
  }

  // Inside [0, extent) for all values of the axes.
  bool inside(const ir::Affine& index, std::int64_t extent) const {
    std::int64_t low = index.constant, high = index.constant;
    for (const auto& [var, c] : index.terms) {
      const ir::Interval range = ranges_.at(var);
      low += std::min(c * range.low, c * range.high);
      high += std::max(c * range.low, c * range.high);
    }
    return low >= 0 && high < extent;
  }

 private:
  // Sums of the axes are taken for exact when loops are made of them, and wrapped by code. (A cast
  // is no such sum: it wraps alike everywhere.)
  bool leaves_its_type(const ir::Expr& e) const {
    if (!e->type.is_int() || e->type.bytes() >= 8 || ir::is_leaf(e)) return false;
    const auto sum = ir::affine_of(e);
    if (!sum) return false;
    auto low = double(sum->constant), high = low;
    for (const auto& [var, c] : sum->terms) {
      const ir::Interval range = ranges_.at(var);
      low += std::min(double(c) * double(range.low), double(c) * double(range.high));
      high += std::max(double(c) * double(range.low), double(c) * double(range.high));
    }
    const bool sign = e->type.scalar != ir::Scalar::UInt8;
    const double all = std::ldexp(1.0, 8 * e->type.bytes());
    return low < (sign ? -all / 2 : 0) || high >= (sign ? all / 2 : all);
  }

  Result<void> check(const ir::Load& load) const {
    if (!earlier_.count(load.buffer)) return wrong(stage_, "reads a stage that is not before it");
    if (load.indices.size() != load.buffer->shape.size()) {
      return wrong(stage_, "reads " + load.buffer->name + " at another number of indices");
    }
    std::vector<ir::Expr> conditions;
    if (load.predicate) conditions = ir::conjuncts(load.predicate);
    for (std::size_t d = 0; d < load.indices.size(); ++d) {
      const auto index = ir::affine_of(load.indices[d]);
      const std::string place = load.buffer->name + ", dimension " + std::to_string(d + 1);
      if (!index) {
        const ir::Interval bounds = ir::index_bounds(load.indices[d], ranges_);
        if (bounds.low >= 0 && bounds.high < load.buffer->shape[d] && given_.count(load.buffer)) {
          continue;
        }
        return wrong(stage_, "reads " + place +
                                 " at an index that is not affine; that may be only where it is "
                                 "an input or a constant, and min and max keep it inside");
      }
      if (!guarded(*index, load.buffer->shape[d], conditions)) {
        return wrong(stage_, "reads outside of " + place +
                                 ": an index must lie inside, or say after | when it does");
      }
    }
    return {};
  }

  // Inside by the ranges of the axes, or where the conditions hold.
  bool guarded(const ir::Affine& index, std::int64_t extent,
               const std::vector<ir::Expr>& conditions) const {
    std::int64_t low = index.constant, high = index.constant;
    for (const auto& [var, c] : index.terms) {
      const auto range = ranges_.find(var);
      if (range == ranges_.end()) return false;
      low += std::min(c * range->second.low, c * range->second.high);
      high += std::max(c * range->second.low, c * range->second.high);
    }
    for (const ir::Expr& condition : conditions) {
      const auto slack = ir::slack_of(condition);
      if (!slack) continue;
      ir::Affine above = index, below = index;
      above.add(*slack, -1);
      below.add(*slack);
      if (is_constant(above)) low = std::max(low, above.constant);
      if (is_constant(below)) high = std::min(high, below.constant);
    }
    return low >= 0 && high < extent;
  }

  static bool is_constant(const ir::Affine& form) {
    for (const auto& [var, c] : form.terms) {
      if (c != 0) return false;
    }
    return true;
  }

  const Stage& stage_;
  std::set<ir::Buffer> earlier_, given_;
  ir::Ranges ranges_;
};

// Each place once: the axes, largest step first, fill what the steps leave between them.
bool stores_each_place(const Stage& stage) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // of the flat place, extent
  std::int64_t stride = 1, constant = 0;
  std::map<ir::Var, std::int64_t> flat;
  for (std::size_t d = stage.store_at.size(); d-- > 0;) {
    const auto place = ir::affine_of(stage.store_at[d]);
    if (!place) return false;
    for (const auto& [var, c] : place->terms) flat[var] += c * stride;
    constant += place->constant * stride;
    stride *= stage.buffer->shape[d];
  }
  for (const Axis& axis : stage.axes) steps.emplace_back(flat[axis.var], axis.extent);
  std::sort(steps.begin(), steps.end());
  std::int64_t filled = 1;
  for (const auto& [step, extent] : steps) {
    if (extent == 1) continue;
    if (step != filled) return false;
    filled *= extent;
  }
  return constant == 0;
}

Result<void> check_stage(const ComputeDag& dag, std::size_t i, std::set<ir::Buffer>& read) {
  const Stage& stage = dag.stages[i];
  if (auto axes = check_axes(stage); !axes) return axes;
  if (stage.buffer->type.is_bool()) return wrong(stage, "has conditions as values; use select");
  if (stage.placeholder()) {
    const bool given = stage.role == ir::Role::Input || stage.role == ir::Role::Constant;
    if (!given) return wrong(stage, "has no value, and is neither input nor constant");
    const ir::Fill& fill = stage.fill;
    if (!std::isfinite(fill.low) || !std::isfinite(fill.high) || fill.low > fill.high) {
      return wrong(stage, "has a fill from low to high that is none");
    }
    return {};
  }
  if (stage.role == ir::Role::Input || stage.role == ir::Role::Constant) {
    return wrong(stage, "has a value, so it is no input and no constant");
  }
  Loads loads(dag, i);
  if (auto sound = loads.check(read); !sound) return sound;
  if (stage.store_at.empty()) return {};
  if (stage.store_at.size() != stage.buffer->shape.size()) {
    return wrong(stage, "stores at another number of indices than its shape has");
  }
  for (std::size_t d = 0; d < stage.store_at.size(); ++d) {
    const auto place = ir::affine_of(stage.store_at[d]);
    if (!place || !loads.inside(*place, stage.buffer->shape[d])) {
      return wrong(stage, "stores outside of its shape");
    }
  }
  if (!stores_each_place(stage)) return wrong(stage, "does not store at each place once");
  return {};
}

}  // namespace

Result<void> check_dag(const ComputeDag& dag) {
  if (dag.stages.empty()) return Error{ErrorCode::InvalidArgument, "a DAG without stages"};
  if (dag.stages.size() > kMostStages) {
    return Error{ErrorCode::InvalidArgument,
                 "a DAG of more than " + std::to_string(kMostStages) + " stages"};
  }
  std::set<std::string> names;
  std::set<ir::Buffer> read;
  for (std::size_t i = 0; i < dag.stages.size(); ++i) {
    const Stage& stage = dag.stages[i];
    if (!is_name(stage.name)) return wrong(stage, "has no proper name");
    if (!names.insert(stage.name).second) return wrong(stage, "is there twice");
    if (auto small = check_size(stage); !small) return small;
    if (auto sound = check_stage(dag, i, read); !sound) return sound;
  }
  for (const Stage& stage : dag.stages) {
    const bool last = &stage == &dag.stages.back();
    const bool output = stage.role == ir::Role::Output;
    if (last && !output) return wrong(stage, "is the last, so it must be the output");
    if (!last && output) {
      return Error{
          ErrorCode::Unsupported,
          "stage \"" + stage.name + "\" is a second output: a DAG has one, its last stage"};
    }
    if (!last && !read.count(stage.buffer)) return wrong(stage, "is read by no other");
  }
  return {};
}

}  // namespace fettle::space
