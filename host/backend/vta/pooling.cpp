// Max pooling found in a DAG (pooling.h).
#include "host/backend/vta/pooling.h"

#include <algorithm>
#include <optional>

#include "host/ir/affine.h"
#include "host/space/axis_roles.h"

namespace fettle::vta::host {
namespace {

using space::Stage;

Error unsupported(const std::string& why) {
  return {ErrorCode::Unsupported, "the VTA accelerator " + why};
}

// What a stage copies, with the lowest int8 around it at most: how far it is moved.
struct Source {
  const Stage* stage;
  std::vector<std::int64_t> before;
};

std::optional<Source> source_of(const space::ComputeDag& dag, const Stage& stage) {
  if (stage.placeholder()) return Source{&stage, std::vector<std::int64_t>(stage.axes.size(), 0)};
  const auto* select = std::get_if<ir::Select>(&stage.body->node);
  if (!select || !stage.store_at.empty()) return {};
  const auto* load = std::get_if<ir::Load>(&select->then_value->node);
  const std::int64_t* outside = ir::as_int(select->else_value);
  if (!load || !outside || *outside != -128 || load->indices.size() != stage.axes.size()) return {};
  const Stage* from = dag.find(load->buffer);
  if (!from->placeholder()) return {};
  Source source{from, {}};
  for (std::size_t d = 0; d < stage.axes.size(); ++d) {
    const auto form = ir::affine_of(load->indices[d]);
    if (!form || form->terms.size() != 1 || form->constant > 0 ||
        form->terms[0] != std::pair{stage.axes[d].var, std::int64_t{1}}) {
      return {};
    }
    source.before.push_back(-form->constant);
  }
  return source;
}

// Elements of `lanes` numbers from one index of dimension `d` to the next.
std::int64_t stride_of(const ir::Buffer& buffer, std::size_t d, std::int64_t lanes) {
  std::int64_t stride = 1;
  for (std::size_t i = d + 1; i < buffer->shape.size(); ++i) stride *= buffer->shape[i];
  return stride / lanes;
}

std::int64_t inside(const SpatialAxis& axis) {
  std::int64_t count = 0;
  for (std::int64_t w = 0; w < axis.window; ++w) {
    count += inside_of(axis, {0, axis.extent}, w).count;
  }
  return count;
}

std::int64_t product_of_extents(const std::vector<SpatialAxis>& axes) {
  std::int64_t product = 1;
  for (const SpatialAxis& axis : axes) product *= axis.extent;
  return product;
}

std::int64_t needed(const SpatialAxis& axis) {
  const InputWindow window = window_of(axis, {0, axis.extent});
  return window.box.extent;
}

}  // namespace

std::int64_t Pooling::outputs() const {
  return product_of_extents(outer) * rows.extent * columns.extent;
}
std::int64_t Pooling::comparisons() const {
  return product_of_extents(outer) * inside(rows) * inside(columns);
}
std::int64_t Pooling::inputs() const {
  return product_of_extents(outer) * needed(rows) * needed(columns);
}

Range inside_of(const SpatialAxis& axis, const Range& outputs, std::int64_t window) {
  Range range{outputs.first, 0};
  for (std::int64_t i = outputs.first; i < outputs.first + outputs.count; ++i) {
    const std::int64_t at = i * axis.step + window * axis.dilation - axis.before;
    if (at < 0 || at >= axis.source) continue;
    if (range.count++ == 0) range.first = i;
  }
  return range;
}

Result<Pooling> pooling_of(const space::ComputeDag& dag, const Design& design) {
  const Stage& pool = dag.stages.back();
  const Error none = unsupported(
      "takes the largest of int8 in blocks of " + std::to_string(design.block_out) +
      " channels under windows over two axes, without a tail: " + pool.name + " is something else");
  const auto roles = space::roles_of(dag, pool);
  if (!roles || roles->second || pool.combiner != space::Combiner::Max ||
      pool.role != ir::Role::Output || !pool.store_at.empty() || design.batch != 1 ||
      design.block_in != design.block_out || roles->first->predicate ||
      roles->first->buffer->type != ir::DataType{ir::Scalar::Int8} ||
      pool.buffer->type != ir::DataType{ir::Scalar::Int8}) {
    return none;
  }
  const ir::Load& load = *roles->first;
  const auto source = source_of(dag, *dag.find(load.buffer));
  const std::size_t lane = pool.axes.size() - 1;
  const std::int64_t lanes = design.block_out;
  if (!source || pool.axes.size() < 3 || load.indices.size() != pool.axes.size() ||
      pool.axes[lane].extent != lanes || source->stage->buffer->shape.back() != lanes ||
      space::sole_axis(pool, load.indices[lane]) != &pool.axes[lane]) {
    return none;
  }
  // One dimension of the input for each axis, in their order; windows along the last two.
  std::vector<SpatialAxis> axes;
  for (std::size_t d = 0; d < lane; ++d) {
    SpatialAxis axis{pool.axes[d].name, pool.axes[d].extent};
    axis.before = source->before[d];
    axis.source = source->stage->buffer->shape[d];
    axis.input_stride = stride_of(source->stage->buffer, d, lanes);
    axis.output_stride = stride_of(pool.buffer, d, lanes);
    const auto window = std::find_if(roles->windows.begin(), roles->windows.end(),
                                     [&](const space::WindowPair& pair) { return pair.axis == d; });
    if (window != roles->windows.end()) {
      const auto form = ir::affine_of(load.indices[d]);
      if (d + 2 < lane || !form || form->constant != 0 ||
          form->coefficient(pool.axes[d].var) != window->stride) {
        return none;
      }
      axis.step = window->stride;
      axis.dilation = window->dilation;
      axis.window = pool.reduce_axes[window->window].extent;
    } else if (space::sole_axis(pool, load.indices[d]) != &pool.axes[d] || axis.before != 0) {
      return none;
    }
    axes.push_back(std::move(axis));
  }
  if (roles->windows.size() != pool.reduce_axes.size()) return none;
  Pooling pooling;
  pooling.columns = axes.back();
  pooling.rows = axes[axes.size() - 2];
  pooling.outer.assign(axes.begin(), axes.end() - 2);
  constexpr std::int64_t kMostPadding = 15;
  for (const SpatialAxis* axis : {&pooling.rows, &pooling.columns}) {
    const std::int64_t behind =
        (axis->extent - 1) * axis->step + axis->reach() - axis->before - axis->source;
    if (std::max(axis->before, behind) > kMostPadding) return unsupported("pads by 15 at most");
    for (std::int64_t i : {std::int64_t{0}, axis->extent - 1}) {
      std::int64_t places = 0;
      for (std::int64_t w = 0; w < axis->window; ++w) places += inside_of(*axis, {i, 1}, w).count;
      if (places == 0) return unsupported("takes no largest of nothing: along " + axis->name);
    }
  }
  const Stage& input = *source->stage;
  pooling.buffers = {{input.buffer, input.role, input.fill}, {pool.buffer, pool.role, pool.fill}};
  return pooling;
}

}  // namespace fettle::vta::host
