// conv2d_transpose: NHWC images, weights [kernel y][kernel x][in][out], float32, float16, or int8
// with int32 sums. Output y gets input i by kernel row y + pad - i * stride; its height is (height
// - 1) * stride - 2 * pad + kernel + output_pad.
#include <algorithm>
#include <array>
#include <cmath>

#include "host/space/operators/operator.h"
#include "host/space/operators/shapes.h"
#include "host/space/operators/tail.h"
#include "host/space/operators/window_operator.h"

namespace fettle::space {

namespace {

using Pair = std::array<std::int64_t, 2>;

// Along one dimension, place y + pad of the output is q * stride + r. It gets kernel
// row r + stride * j times input row q - j, for j from 0 below `taps`.
struct Phases {
  std::int64_t output, stride, pad, taps, quotients;
  std::int64_t places() const { return quotients * stride; }
};

std::array<Phases, 2> phases_of(const Pair& extent, const Pair& kernel, const Pair& stride,
                                const Pair& pad, const Pair& output_pad) {
  std::array<Phases, 2> out;
  for (std::size_t d = 0; d < 2; ++d) {
    Phases& p = out[d];
    p.stride = stride[d], p.pad = pad[d];
    p.output = (extent[d] - 1) * stride[d] - 2 * pad[d] + kernel[d] + output_pad[d];
    p.taps = (kernel[d] + stride[d] - 1) / stride[d];
    p.quotients = (p.output + p.pad + p.stride - 1) / p.stride;
  }
  return out;
}

std::array<Phases, 2> phases_of(const OperatorCall& w) {
  return phases_of({w.integer("height"), w.integer("width")}, w.pair("kernel"), w.pair("stride"),
                   w.pair("pad"), w.pair("output_pad"));
}

Result<nlohmann::json> canonical(const nlohmann::json& json) {
  Fields fields(json);
  fields.word("layout", {"NHWC"}, "NHWC");
  fields.word("dtype", {"float32", "float16", "int8"}, "float32");
  fields.allow_tf32();
  fields.integer("batch", 1, 65536, 1);
  fields.integer("height", 1, 65536);
  fields.integer("width", 1, 65536);
  fields.integer("in_channels", 1, 65536);
  fields.integer("out_channels", 1, 65536);
  window_fields(fields, false);
  fields.pair("output_pad", 0, 254, 0);
  fields.tail();
  auto checked = fields.finish("conv2d_transpose");
  if (!checked) return checked;
  const nlohmann::json& f = *checked;
  const Pair kernel = f["kernel"], stride = f["stride"], pad = f["pad"], more = f["output_pad"];
  const auto [y, x] = phases_of({f["height"].get<std::int64_t>(), f["width"].get<std::int64_t>()},
                                kernel, stride, pad, more);
  const double n = f["batch"], ci = f["in_channels"], co = f["out_channels"];
  auto right =
      require(y.output > 0 && x.output > 0, "conv2d_transpose", "the padding leaves no output");
  if (right) {
    right = require(more[0] < stride[0] && more[1] < stride[1], "conv2d_transpose",
                    "output_pad is not smaller than the stride");
  }
  if (right) {
    right =
        require_size("conv2d_transpose",
                     std::max({n * double(y.quotients + y.taps) * double(x.quotients + x.taps) * ci,
                               n * double(y.places() * x.places()) * co,
                               double(y.taps * y.stride) * double(x.taps * x.stride) * ci * co}));
  }
  if (right) right = require_sum("conv2d_transpose", f, double(y.taps * x.taps) * ci);
  if (!right) return std::move(right).error();
  return checked;
}

// weight.taps[ry][jy][rx][jx][in][out]: kernel row ry + stride * jy, 0 past the kernel.
Stage make_taps(const Stage& weight, const Phases& y, const Phases& x) {
  const Axis ry = make_axis("ry", y.stride), jy = make_axis("jy", y.taps),
             rx = make_axis("rx", x.stride), jx = make_axis("jx", x.taps),
             ic = make_axis("ic", weight.axes[2].extent),
             oc = make_axis("oc", weight.axes[3].extent);
  const auto v = [](const Axis& axis) { return ir::var_ref(axis.var); };
  const ir::Expr kh = v(ry) + v(jy) * ir::int_imm(y.stride),
                 kw = v(rx) + v(jx) * ir::int_imm(x.stride);
  const auto below = [](const ir::Expr& index, const Axis& axis, std::int64_t most) {
    return axis.extent >= most ? ir::bool_imm(true)
                               : ir::binary(ir::BinaryOp::Lt, index, ir::int_imm(axis.extent));
  };
  const ir::Expr inside =
      ir::binary(ir::BinaryOp::And, below(kh, weight.axes[0], y.taps * y.stride),
                 below(kw, weight.axes[1], x.taps * x.stride));
  return make_stage("weight.taps", {ry, jy, rx, jx, ic, oc}, {},
                    ir::load(weight.buffer, {kh, kw, v(ic), v(oc)}, inside));
}

// sums[n][y + pad][x + pad][out], computed phase by phase.
Stage make_sums(const Stage& image, const Stage& taps, const Phases& y, const Phases& x) {
  const Axis n = make_axis("n", image.axes[0].extent), qy = make_axis("qy", y.quotients),
             ry = make_axis("ry", y.stride), qx = make_axis("qx", x.quotients),
             rx = make_axis("rx", x.stride), oc = make_axis("oc", taps.axes[5].extent),
             jy = make_axis("jy", y.taps), jx = make_axis("jx", x.taps),
             ic = make_axis("ic", taps.axes[4].extent);
  const auto v = [](const Axis& axis) { return ir::var_ref(axis.var); };
  const ir::Expr row = v(qy) - v(jy) + ir::int_imm(y.taps - 1),
                 column = v(qx) - v(jx) + ir::int_imm(x.taps - 1);
  Stage sums = make_stage("sums", {n, qy, ry, qx, rx, oc}, {jy, jx, ic},
                          product(at(image, {v(n), row, column, v(ic)}),
                                  at(taps, {v(ry), v(jy), v(rx), v(jx), v(ic), v(oc)})));
  ir::BufferDecl decl = *sums.buffer;
  decl.shape = {n.extent, y.places(), x.places(), oc.extent};
  sums.buffer = std::make_shared<const ir::BufferDecl>(std::move(decl));
  sums.store_at = {v(n), v(qy) * ir::int_imm(y.stride) + v(ry),
                   v(qx) * ir::int_imm(x.stride) + v(rx), v(oc)};
  return sums;
}

ComputeDag dag(const OperatorCall& w) {
  const auto [y, x] = phases_of(w);
  const auto kernel = w.pair("kernel");
  const std::int64_t n = w.integer("batch"), height = w.integer("height"),
                     width = w.integer("width"), ci = w.integer("in_channels"),
                     co = w.integer("out_channels");
  ComputeDag dag;
  const ir::Scalar type = w.scalar();
  const Stage input =
      make_operand(type, "input", {{"n", n}, {"y", height}, {"x", width}, {"c", ci}},
                   ir::Role::Input, kInputStream, 1);
  // About kernel / stride taps meet in one output along each dimension.
  const double length = double(y.taps * x.taps * ci);
  const Stage weight =
      make_operand(type, "weight", {{"kh", kernel[0]}, {"kw", kernel[1]}, {"ic", ci}, {"oc", co}},
                   ir::Role::Constant, kWeightStream, 1 / std::sqrt(length));
  const Stage taps = make_taps(weight, y, x);
  dag.stages = {input, weight, taps};
  const Shape before{0, y.taps - 1, x.taps - 1, 0},
      after{0, std::max<std::int64_t>(0, y.quotients - height),
            std::max<std::int64_t>(0, x.quotients - width), 0};
  const bool padded = before != Shape(4, 0) || after != Shape(4, 0);
  if (padded) dag.stages.push_back(make_pad(input, before, after, ir::zero_of({type, 1})));
  const Stage sums = make_sums(padded ? dag.stages.back() : input, taps, y, x);
  const Axis an = make_axis("n", n), ay = make_axis("y", y.output), ax = make_axis("x", x.output),
             oc = make_axis("oc", co);
  const Stage conv =
      make_stage("conv", {an, ay, ax, oc}, {},
                 at(sums, {ir::var_ref(an.var), ir::var_ref(ay.var) + ir::int_imm(y.pad),
                           ir::var_ref(ax.var) + ir::int_imm(x.pad), ir::var_ref(oc.var)}));
  dag.stages.insert(dag.stages.end(), {sums, conv});
  append_tail(dag, w);
  return dag;
}

double output_elements(const OperatorCall& w) {
  const auto [y, x] = phases_of(w);
  return double(w.integer("batch")) * double(y.output * x.output) *
         double(w.integer("out_channels"));
}

// Every input pixel meets every tap of the kernel, but for what padding cuts off.
double operations(const OperatorCall& w) {
  const auto kernel = w.pair("kernel");
  return 2.0 * double(w.integer("batch")) * double(w.integer("height") * w.integer("width")) *
         double(w.integer("in_channels")) * double(w.integer("out_channels")) *
         double(kernel[0] * kernel[1]);
}

std::string title(const OperatorCall& w) {
  std::string s = "conv2d_transpose ";
  if (w.integer("batch") != 1) s += "n" + std::to_string(w.integer("batch")) + " ";
  return s + std::to_string(w.integer("height")) + "x" + std::to_string(w.integer("width")) + "x" +
         std::to_string(w.integer("in_channels")) + "→" +
         std::to_string(w.integer("out_channels")) + window_title(w);
}

}  // namespace

const Operator kConv2dTranspose{"conv2d_transpose", canonical,       dag,
                                operations,         output_elements, title};

}  // namespace fettle::space
