// Transposed convolutions: [n][c][spatial…] by weights [ic][oc / groups][kernel…], as ONNX has
// them. Stride s cuts an axis of the output in two, output u = s q + r, and the kernel with it,
// k = r + s j: then u is the sum over j of x[q - j] w[r + s j]. No zero is put in between.
#include "host/model/operators/call.h"

namespace fettle::model {
namespace {

using ir::BinaryOp;

ir::Expr conjunction(const ir::Expr& a, const ir::Expr& b) {
  return a ? ir::binary(BinaryOp::And, a, b) : b;
}
ir::Expr between(std::int64_t low, const ir::Expr& index, std::int64_t high) {
  return ir::binary(BinaryOp::And, ir::binary(BinaryOp::Le, ir::int_imm(low), index),
                    ir::binary(BinaryOp::Lt, index, ir::int_imm(high)));
}

// An axis; one of extent 1 is none, as a stage has room for twelve.
ir::Expr along(std::vector<space::Axis>& axes, const space::Axis& axis) {
  if (axis.extent == 1) return ir::int_imm(0);
  axes.push_back(axis);
  return ir::var_ref(axis.var);
}

Result<Written> transposed(const NodeCall& call) {
  const Shape &x = call.shape(0), &weight = call.shape(1);
  const std::int64_t groups = call.integer("group");
  if (x.size() < 3 || weight.size() != x.size()) return invalid("its weight has another rank");
  if (groups < 1 || weight[0] != x[1] || weight[0] % groups) {
    return invalid("its weight does not fit " + std::to_string(x[1]) + " channels in " +
                   std::to_string(groups) + " groups");
  }
  const std::size_t rank = x.size() - 2;
  const auto strides = call.list("strides"), dilations = call.list("dilations"),
             pads = call.list("pads"), longer = call.list("output_padding");
  if (strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank ||
      longer.size() != rank) {
    return invalid("its strides, dilations or pads have another rank");
  }
  const std::int64_t each = weight[1], within = weight[0] / groups;  // channels of a group
  const space::Axis n = space::make_axis("n", x[0]), oc = space::make_axis("oc", each),
                    ic = space::make_axis("ic", within);
  std::vector<space::Axis> axes = {n}, reduced = {ic};
  const ir::Expr group = along(axes, space::make_axis("g", groups));
  axes.push_back(oc);
  const ir::Expr channel = group * ir::int_imm(each) + ir::var_ref(oc.var);
  const ir::Expr read = group * ir::int_imm(within) + ir::var_ref(ic.var);
  std::vector<ir::Expr> at_x = {ir::var_ref(n.var), read}, at_weight = {read, ir::var_ref(oc.var)};
  std::vector<ir::Expr> places = {ir::var_ref(n.var), channel};
  ir::Expr x_inside, weight_inside;
  Shape whole = {x[0], each * groups}, to = whole;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t s = strides[d], kernel = weight[2 + d], apart = dilations[d];
    if (s < 1 || apart < 1 || kernel < 1 || pads[d] < 0 || pads[rank + d] < 0 || longer[d] < 0) {
      return invalid("its window is none");
    }
    if (s > 1 && apart > 1) return unsupported("strides with dilations");
    const std::int64_t reach = (kernel - 1) * apart + 1;
    const std::int64_t extent = (x[2 + d] - 1) * s + reach + longer[d] - pads[d] - pads[rank + d];
    if (extent < 1) return invalid("leaves nothing of an axis");
    to.push_back(extent);
    const std::string name = std::to_string(d);
    const space::Axis q = space::make_axis("q" + name, (extent + pads[d] + s - 1) / s),
                      r = space::make_axis("r" + name, s),
                      j = space::make_axis("j" + name, (kernel + s - 1) / s);
    axes.push_back(q);
    const ir::Expr phase = along(axes, r), turn = along(reduced, j);
    const ir::Expr from = ir::var_ref(q.var) - turn * ir::int_imm(apart);
    const ir::Expr tap = phase + turn * ir::int_imm(s);
    at_x.push_back(from);
    at_weight.push_back(tap);
    places.push_back(ir::var_ref(q.var) * ir::int_imm(s) + phase);
    whole.push_back(q.extent * s);
    if (j.extent > 1 || q.extent > x[2 + d]) {
      x_inside = conjunction(x_inside, between(0, from, x[2 + d]));
    }
    if (kernel % s) {
      weight_inside =
          conjunction(weight_inside, ir::binary(BinaryOp::Lt, tap, ir::int_imm(kernel)));
    }
  }
  std::int64_t terms = 1;
  for (const space::Axis& axis : reduced) terms *= axis.extent;
  call.sums_up(1, terms);
  const ir::Expr product = widened(element_where(call, 0, at_x, x_inside)) *
                           widened(element_where(call, 1, at_weight, weight_inside));
  const space::Stage sums = call.add_at("sums", axes, product, whole, places, reduced);
  const auto out_axes = axes_of(to);
  const auto indices = indices_of(out_axes);
  auto at = indices;
  for (std::size_t d = 0; d < rank; ++d) at[2 + d] = at[2 + d] + ir::int_imm(pads[d]);
  ir::Expr value = space::at(sums, at);
  if (call.has(2)) {
    if (call.shape(2) != Shape{to[1]}) return invalid("its bias is not one per channel");
    value = value + widened(element(call, 2, {indices[1]}));
  }
  return written(call.add("value", out_axes, {}, narrowed(value, call.scalar(0))));
}

constexpr Operator kTransposed[] = {
    {"ConvTranspose", 2, 3, transposed, nullptr, Takes::Same},
};

}  // namespace

std::span<const Operator> transposed_convolution_operators() { return kTransposed; }

}  // namespace fettle::model
