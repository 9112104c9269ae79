// Sums over channels with the channels last (channels_last.h).
#include "host/space/algorithms/channels_last.h"

#include <algorithm>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/operators/stages.h"
#include "host/space/rewrite.h"
#include "host/space/tiled_axis.h"

namespace fettle::space {

namespace {

Error unfit(const char* what) { return Error{ErrorCode::InvalidArgument, what}; }

template <typename T>
std::vector<T> with_last(std::vector<T> list, std::size_t moved) {
  const auto at = list.begin() + std::ptrdiff_t(moved);
  std::rotate(at, at + 1, list.end());
  return list;
}

// Where the channels are.
struct Channels {
  Factors factors;
  std::size_t dimension = 0;  // of the data: those that are summed
  std::size_t summed = 0;     // among the sum's reduction axes: the same
  std::size_t out = 0;        // among the sum's axes: those that the constant has
  // Of each dimension of the constant: the sum's axis.
  std::vector<ir::Var> constant_axes;
};

// The dimension that is the axis itself, where no other moves with it; -1: there is none.
int dimension_of(const ir::Load& load, const ir::Var& axis) {
  int found = -1;
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    if (!ir::mentions(load.indices[d], axis)) continue;
    if (found >= 0 || !is_var(load.indices[d], axis)) return -1;
    found = int(d);
  }
  return found;
}

Result<Channels> channels_of(const ComputeDag& dag, const Stage& sum) {
  const auto factors = factors_of(dag, sum);
  if (!factors || !sum.store_at.empty()) {
    return unfit("not a sum of products of data and a constant");
  }
  Channels c{*factors, 0, 0, 0, {}};
  for (const ir::Expr& index : factors->constant->indices) {
    const auto* ref = std::get_if<ir::VarRef>(&index->node);
    if (!ref || std::count(c.constant_axes.begin(), c.constant_axes.end(), ref->var) > 0) {
      return unfit("a constant not read by axes alone");
    }
    c.constant_axes.push_back(ref->var);
  }
  const auto has = [&](const Axis& axis) {
    return std::count(c.constant_axes.begin(), c.constant_axes.end(), axis.var) > 0;
  };
  int outs = 0, sums = 0;
  for (std::size_t i = 0; i < sum.axes.size(); ++i) {
    if (has(sum.axes[i])) c.out = i, ++outs;
  }
  for (std::size_t i = 0; i < sum.reduce_axes.size(); ++i) {
    const int d = dimension_of(*factors->data, sum.reduce_axes[i].var);
    if (d < 0 || !has(sum.reduce_axes[i])) continue;
    c.summed = i, c.dimension = std::size_t(d), ++sums;
  }
  if (outs != 1) return unfit("a constant with not one axis of the sum");
  for (const ir::Expr& index : factors->data->indices) {
    if (ir::mentions(index, sum.axes[c.out].var)) return unfit("data of the constant's axis");
  }
  if (sums != 1) return unfit("not one axis of channels that both factors have");
  if (c.dimension + 1 == factors->data->indices.size()) return unfit("channels are last already");
  return c;
}

// The data with its channels last: a copy of an input, or what makes it in other order.
Stage reordered(const Stage& data, std::size_t dimension) {
  Stage copy = data;
  if (data.placeholder()) {
    std::vector<Axis> axes;
    for (const Axis& axis : data.axes) axes.push_back(make_axis(axis.name, axis.extent));
    copy = make_stage(data.name + ".channels_last", axes, {}, ir::load(data.buffer, refs(axes)));
  }
  copy.axes = with_last(copy.axes, dimension);
  copy.buffer = make_buffer(copy.name, data.buffer->type, copy.axes);
  return copy;
}

// The constant over the given axes of the sum, each of which is one of its dimensions.
Stage reordered(const Stage& constant, const std::vector<ir::Var>& dimensions,
                const std::vector<Axis>& order) {
  std::vector<Axis> axes;
  std::vector<ir::Expr> from(dimensions.size());
  for (const Axis& axis : order) {
    const auto d = std::find(dimensions.begin(), dimensions.end(), axis.var) - dimensions.begin();
    axes.push_back(make_axis(axis.name, constant.axes[std::size_t(d)].extent));
    from[std::size_t(d)] = ir::var_ref(axes.back().var);
  }
  return make_stage(constant.name + ".channels_last", std::move(axes), {},
                    ir::load(constant.buffer, from));
}

// Moves an axis of the stage to the end; its output stays where it was.
void move_last(Stage& stage, std::size_t axis) {
  if (stage.role == ir::Role::Output) stage.store_at = refs(stage.axes);
  stage.axes = with_last(stage.axes, axis);
  if (stage.role != ir::Role::Output) {
    stage.buffer = make_buffer(stage.name, stage.buffer->type, stage.axes);
  }
}

bool reads(const Stage& stage, const ir::Buffer& buffer) {
  bool found = false;
  if (!stage.body) return false;
  ir::walk(stage.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    found |= load && load->buffer == buffer;
  });
  return found;
}

// Whether each load of the buffer is at the stage's own axes.
bool reads_one_to_one(const Stage& stage, const ir::Buffer& buffer) {
  bool direct = stage.reduce_axes.empty() && stage.store_at.empty();
  ir::walk(stage.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    if (!load || load->buffer != buffer) return;
    direct &= load->indices.size() == stage.axes.size();
    for (std::size_t d = 0; direct && d < load->indices.size(); ++d) {
      direct &=
          is_var(load->indices[d], stage.axes[d].var) && stage.axes[d].extent == buffer->shape[d];
    }
  });
  return direct;
}

}  // namespace

Result<ComputeDag> with_channels_last(ComputeDag dag) {
  const auto reduces = [](const Stage& stage) { return !stage.reduce_axes.empty(); };
  std::vector<Stage> stages = dag.stages;
  const auto found = std::find_if(stages.begin(), stages.end(), reduces);
  if (std::count_if(stages.begin(), stages.end(), reduces) != 1) return unfit("not one reduction");
  const std::ptrdiff_t index = found - stages.begin();
  Stage& sum = *found;
  auto channels = channels_of(dag, sum);
  if (!channels) return std::move(channels).error();
  const ir::Load data_load = *channels->factors.data, constant_load = *channels->factors.constant;
  const auto data_index = std::size_t(index_of(dag, dag.find(data_load.buffer)->name));
  const Stage data = stages[data_index], constant = *dag.find(constant_load.buffer);
  if (!data.placeholder() && (data.role == ir::Role::Output || !data.reduce_axes.empty() ||
                              !data.store_at.empty() || readers_of(dag, data.buffer).size() != 1)) {
    return unfit("data that cannot be stored in other order");
  }

  const Stage copy = reordered(data, channels->dimension);
  std::vector<Axis> order;
  sum.reduce_axes = with_last(sum.reduce_axes, channels->summed);
  for (const Axis& axis : sum.reduce_axes) {
    const auto& own = channels->constant_axes;
    if (std::count(own.begin(), own.end(), axis.var) > 0) order.push_back(axis);
  }
  order.push_back(sum.axes[channels->out]);
  const Stage weights = reordered(constant, channels->constant_axes, order);
  sum.body = ir::replace_loads(sum.body, data.buffer, [&](const ir::Load& load) {
    return ir::load(copy.buffer, with_last(load.indices, channels->dimension));
  });
  sum.body = ir::replace_loads(sum.body, constant.buffer, [&](const ir::Load&) {
    return ir::load(weights.buffer, refs(order));
  });

  // The sum, what reads it, and so on to the output.
  struct Moved {
    ir::Buffer before, after;
  };
  std::vector<Moved> moved;
  const auto move = [&](Stage& stage) {
    const ir::Buffer before = stage.buffer;
    move_last(stage, channels->out);
    moved.push_back({before, stage.buffer});
  };
  move(sum);
  for (std::size_t i = std::size_t(index) + 1; i < stages.size(); ++i) {
    Stage& reader = stages[i];
    std::vector<Moved> read;
    for (const Moved& m : moved) {
      if (reads(reader, m.before)) read.push_back(m);
    }
    for (const Moved& m : read) {
      if (!reads_one_to_one(reader, m.before)) return unfit("the sum is not read one to one");
      reader.body = ir::replace_loads(reader.body, m.before, [&](const ir::Load& load) {
        return ir::load(m.after, with_last(load.indices, channels->out));
      });
    }
    if (!read.empty()) move(reader);
  }

  std::vector<Stage> made{weights};
  if (data.placeholder()) {
    made.push_back(copy);
  } else {
    stages[data_index] = copy;
  }
  stages.insert(stages.begin() + index, made.begin(), made.end());
  dag.stages = std::move(stages);
  return dag;
}

}  // namespace fettle::space
