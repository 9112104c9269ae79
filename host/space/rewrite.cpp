// Rewriting of compute DAGs (rewrite.h).
#include "host/space/rewrite.h"

#include <algorithm>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/tiled_axis.h"

namespace fettle::space {

namespace {

Error unfit(const char* what) { return Error{ErrorCode::InvalidArgument, what}; }

}  // namespace

int index_of(const ComputeDag& dag, const std::string& stage) {
  for (std::size_t i = 0; i < dag.stages.size(); ++i) {
    if (dag.stages[i].name == stage) return int(i);
  }
  return -1;
}

std::vector<std::string> readers_of(const ComputeDag& dag, const ir::Buffer& buffer) {
  std::vector<std::string> names;
  for (const Stage& stage : dag.stages) {
    bool reads = false;
    if (stage.body) {
      ir::walk(stage.body, [&](const ir::Expr& e) {
        const auto* load = std::get_if<ir::Load>(&e->node);
        reads |= load && load->buffer == buffer;
      });
    }
    if (reads) names.push_back(stage.name);
  }
  return names;
}

const Stage* computed_source(const ComputeDag& dag, const Stage& stage) {
  const Stage* found = nullptr;
  ir::walk(stage.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    const Stage* read = load ? dag.find(load->buffer) : nullptr;
    if (read && !read->placeholder() && !is_constant(dag, *read)) found = read;
  });
  return found;
}

std::vector<ir::Expr> refs(const std::vector<Axis>& axes) {
  std::vector<ir::Expr> out;
  for (const Axis& axis : axes) out.push_back(ir::var_ref(axis.var));
  return out;
}

bool is_var(const ir::Expr& e, const ir::Var& var) {
  const auto* ref = std::get_if<ir::VarRef>(&e->node);
  return ref && ref->var == var;
}

Result<void> inline_stage(ComputeDag& dag, const std::string& name) {
  const int index = index_of(dag, name);
  if (index < 0 || dag.stages[std::size_t(index)].placeholder()) return unfit("no such stage");
  const Stage stage = dag.stages[std::size_t(index)];
  if (!stage.reduce_axes.empty()) return unfit("a reduction cannot be inlined");
  if (stage.role == ir::Role::Output) return unfit("an output cannot be inlined");
  const auto value_at = [&](const ir::Load& load) {
    ir::Substitution values;
    for (std::size_t d = 0; d < load.indices.size(); ++d) {
      values[stage.axes[d].var] = load.indices[d];
    }
    const ir::Expr value = ir::substitute(stage.body, values);
    if (!load.predicate) return value;
    // What the value reads may not be there where it is not needed.
    const auto all = [](const ir::Load&) { return true; };
    return ir::select(load.predicate, ir::guard_loads(value, load.predicate, all),
                      ir::zero_of(value->type));
  };
  for (Stage& other : dag.stages) {
    if (other.body) other.body = ir::replace_loads(other.body, stage.buffer, value_at);
  }
  dag.stages.erase(dag.stages.begin() + index);
  return {};
}

void compute_apart(ComputeDag& dag, const std::string& stage, std::string name) {
  const auto index = std::size_t(index_of(dag, stage));
  Stage copy = dag.stages[index];
  Stage apart = copy;
  apart.name = std::move(name);
  apart.buffer = make_buffer(apart.name, copy.buffer->type, copy.axes);
  apart.role = ir::Role::Scratch;
  apart.store_at.clear();
  std::vector<ir::Expr> indices;
  ir::Substitution renamed;
  for (Axis& axis : copy.axes) {
    const ir::Var old = axis.var;
    axis.var = ir::make_var(axis.name);
    indices.push_back(ir::var_ref(axis.var));
    renamed[old] = indices.back();
  }
  for (ir::Expr& place : copy.store_at) place = ir::substitute(place, renamed);
  copy.reduce_axes.clear();
  copy.combiner = Combiner::Sum;
  copy.body = ir::load(apart.buffer, indices);
  dag.stages[index] = apart;
  dag.stages.insert(dag.stages.begin() + std::ptrdiff_t(index) + 1, copy);
}

std::vector<std::string> elementwise_stages(const ComputeDag& dag) {
  std::vector<std::string> names;
  for (const Stage& stage : dag.stages) {
    if (!stage.placeholder() && stage.reduce_axes.empty() && stage.role != ir::Role::Output &&
        !is_constant(dag, stage)) {
      names.push_back(stage.name);
    }
  }
  return names;
}

}  // namespace fettle::space
