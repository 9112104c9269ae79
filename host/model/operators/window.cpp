// Convolutions and pooling over any number of spatial axes: [n][c][spatial…], as ONNX has them.
#include "host/model/operators/sums.h"

namespace fettle::model {
namespace {

using ir::BinaryOp;
using space::Combiner;

struct Window {
  Shape kernel, strides, dilations, before, after, output;

  std::size_t rank() const { return kernel.size(); }
};

Result<Window> window_of(const NodeCall& call, const Shape& kernel) {
  const Shape& shape = call.shape(0);
  if (shape.size() < 3 || kernel.size() != shape.size() - 2)
    return invalid("its window has another rank");
  const std::size_t rank = kernel.size();
  const auto pads = call.list("pads");
  Window w{kernel, call.list("strides"), call.list("dilations"), {}, {}, {}};
  if (pads.size() != 2 * rank || w.strides.size() != rank || w.dilations.size() != rank) {
    return invalid("its strides, dilations or pads have another rank");
  }
  for (std::size_t d = 0; d < rank; ++d) {
    if (kernel[d] < 1 || w.strides[d] < 1 || w.dilations[d] < 1 || pads[d] < 0 ||
        pads[rank + d] < 0) {
      return invalid("its window is none");
    }
    w.before.push_back(pads[d]);
    w.after.push_back(pads[rank + d]);
    const std::int64_t reach = (kernel[d] - 1) * w.dilations[d] + 1;
    const std::int64_t room = shape[2 + d] + pads[d] + pads[rank + d] - reach;
    if (room < 0) return invalid("its window is larger than what it slides over");
    const bool up = call.attributes().value("ceil_mode", 0) != 0;
    std::int64_t steps = (room + (up ? w.strides[d] - 1 : 0)) / w.strides[d];
    // A window that would begin behind the input is none.
    if (up && steps * w.strides[d] >= shape[2 + d] + pads[d]) --steps;
    w.output.push_back(steps + 1);
    // What the last window reaches behind the stated padding, when rounded up.
    const std::int64_t last = steps * w.strides[d] + reach - pads[d] - shape[2 + d];
    w.after[d] = std::max(w.after[d], last);
  }
  return w;
}

// The axes of a window's places, and the input's element under it at the output's.
struct Under {
  std::vector<space::Axis> places;
  std::vector<ir::Expr> indices;  // spatial
  ir::Expr inside;                // null: always
};

Under under(const Window& w, const Shape& shape, const std::vector<space::Axis>& output) {
  Under out;
  for (std::size_t d = 0; d < w.rank(); ++d) {
    out.places.push_back(space::make_axis("k" + std::to_string(d), w.kernel[d]));
    const ir::Expr index = ir::var_ref(output[2 + d].var) * ir::int_imm(w.strides[d]) +
                           ir::var_ref(out.places[d].var) * ir::int_imm(w.dilations[d]) -
                           ir::int_imm(w.before[d]);
    out.indices.push_back(index);
    if (w.before[d] == 0 && w.after[d] <= 0) continue;
    const ir::Expr in = ir::binary(BinaryOp::And, ir::binary(BinaryOp::Le, ir::int_imm(0), index),
                                   ir::binary(BinaryOp::Lt, index, ir::int_imm(shape[2 + d])));
    out.inside = out.inside ? ir::binary(BinaryOp::And, out.inside, in) : in;
  }
  return out;
}

Shape output_shape(const Window& w, std::int64_t n, std::int64_t c) {
  Shape shape = {n, c};
  shape.insert(shape.end(), w.output.begin(), w.output.end());
  return shape;
}

// Inputs: x, weight [oc][ic / groups][kernel…], perhaps a bias per channel.
Result<Written> conv(const NodeCall& call) {
  const auto as_it_is = [](const ir::Expr& x, const auto&) { return widened(x); };
  auto sums = convolution_sums(call, nullptr, as_it_is);
  if (!sums) return std::move(sums).error();
  const auto out_axes = axes_of(sums->shape);
  const auto indices = indices_of(out_axes);
  ir::Expr value = space::at(sums->stage, indices);
  if (call.has(2)) {
    if (call.shape(2) != Shape{sums->shape[1]}) return invalid("its bias is not one per channel");
    value = value + widened(element(call, 2, {indices[1]}));
  }
  return written(call.add("value", out_axes, {}, narrowed(value, call.scalar(0))));
}

Result<Written> pooled(const NodeCall& call, const Shape& kernel, bool max, bool count_pad) {
  const Shape& x = call.shape(0);
  auto w = window_of(call, kernel);
  if (!w) return std::move(w).error();
  const Shape shape = output_shape(*w, x[0], x[1]);
  const auto axes = axes_of(shape);
  const Under u = under(*w, x, axes);
  std::vector<ir::Expr> at = {ir::var_ref(axes[0].var), ir::var_ref(axes[1].var)};
  at.insert(at.end(), u.indices.begin(), u.indices.end());
  ir::Expr value = element_where(call, 0, at, u.inside);
  if (max && u.inside) {
    value = ir::select(u.inside, value, space::neutral_of(Combiner::Max, value->type));
  }
  if (max) return written(call.add("largest", axes, u.places, value, Combiner::Max));
  const space::Stage sum = call.add("sum", axes, u.places, widened(value));
  const auto out_axes = axes_of(shape);
  const auto indices = indices_of(out_axes);
  // How many elements a window has, axis by axis.
  ir::Expr count = ir::int_imm(1);
  for (std::size_t d = 0; d < w->rank(); ++d) {
    if (w->before[d] == 0 && w->after[d] <= 0) {
      count = count * ir::int_imm(w->kernel[d]);
      continue;
    }
    if (w->dilations[d] != 1) return unsupported("the mean under a dilated window");
    const std::int64_t pad = count_pad ? call.list("pads")[w->rank() + d] : 0;
    const std::int64_t low = count_pad ? -w->before[d] : 0, high = x[2 + d] + pad;
    const ir::Expr begin = indices[2 + d] * ir::int_imm(w->strides[d]) - ir::int_imm(w->before[d]);
    count =
        count * (ir::binary(BinaryOp::Min, begin + ir::int_imm(w->kernel[d]), ir::int_imm(high)) -
                 ir::binary(BinaryOp::Max, begin, ir::int_imm(low)));
  }
  const ir::Expr mean =
      ir::binary(BinaryOp::Div, space::at(sum, indices), ir::cast(ir::kFloat32, count));
  return written(call.add("mean", out_axes, {}, narrowed(mean, call.scalar(0))));
}

Result<Written> max_pool(const NodeCall& call) {
  return pooled(call, call.list("kernel_shape"), true, false);
}
Result<Written> average_pool(const NodeCall& call) {
  return pooled(call, call.list("kernel_shape"), false, call.integer("count_include_pad") != 0);
}

constexpr Operator kWindow[] = {
    {"Conv", 2, 3, conv, nullptr, Takes::Same},
    {"MaxPool", 1, 1, max_pool, nullptr},
    {"AveragePool", 1, 1, average_pool, nullptr, Takes::Floats},
};

}  // namespace

std::span<const Operator> window_operators() { return kWindow; }

Result<Written> convolution_sums(const NodeCall& call, const ir::Expr& x_zero,
                                 const Taken& weights) {
  const Shape &x = call.shape(0), &weight = call.shape(1);
  const std::int64_t groups = call.integer("group");
  if (x.size() < 3 || weight.size() != x.size()) return invalid("its weight has another rank");
  if (groups < 1 || weight[0] % groups || weight[1] * groups != x[1]) {
    return invalid("its weight does not fit " + std::to_string(x[1]) + " channels in " +
                   std::to_string(groups) + " groups");
  }
  auto w = window_of(call, Shape(weight.begin() + 2, weight.end()));
  if (!w) return std::move(w).error();
  const std::int64_t each = weight[0] / groups;  // output channels of a group
  // Channels are two axes where there are groups, and stored as one.
  const Shape shape = output_shape(*w, x[0], weight[0]);
  std::vector<space::Axis> spatial = axes_of(shape);
  const space::Axis n = spatial[0];
  const space::Axis group = space::make_axis("g", groups), oc = space::make_axis("oc", each);
  const space::Axis ic = space::make_axis("ic", weight[1]);
  const Under u = under(*w, x, spatial);
  const ir::Expr channel = ir::var_ref(group.var) * ir::int_imm(each) + ir::var_ref(oc.var);
  std::vector<ir::Expr> at_x = {
      ir::var_ref(n.var), ir::var_ref(group.var) * ir::int_imm(weight[1]) + ir::var_ref(ic.var)};
  std::vector<ir::Expr> at_weight = {channel, ir::var_ref(ic.var)};
  for (std::size_t d = 0; d < w->rank(); ++d) {
    at_x.push_back(u.indices[d]);
    at_weight.push_back(ir::var_ref(u.places[d].var));
  }
  std::vector<space::Axis> reduced = {ic};
  reduced.insert(reduced.end(), u.places.begin(), u.places.end());
  std::vector<space::Axis> axes = {n, group, oc};
  axes.insert(axes.end(), spatial.begin() + 2, spatial.end());
  std::vector<ir::Expr> places = {ir::var_ref(n.var), channel};
  for (std::size_t d = 2; d < spatial.size(); ++d) places.push_back(ir::var_ref(spatial[d].var));
  ir::Expr image = widened(element_where(call, 0, at_x, u.inside));
  if (x_zero) {
    image = image - x_zero;
    if (u.inside) image = ir::select(u.inside, image, ir::int_imm(0));
  }
  call.sums_up(1, TensorType{{}, weight}.elements() / weight[0]);
  const ir::Expr product = image * weights(element(call, 1, at_weight), at_weight);
  return Written{call.add_at("conv", axes, product, shape, places, reduced), shape};
}

}  // namespace fettle::model
