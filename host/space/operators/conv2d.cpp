// conv2d: NHWC images with weights [kernel y][kernel x][in / groups][out], or NCHW ones
// with weights [out][in / groups][kernel y][kernel x], or those in blocks of channels
// (packed.h); float32, float16 in memory only, or int8 with int32 sums.
#include <cmath>

#include "host/space/operators/operator.h"
#include "host/space/operators/packed.h"
#include "host/space/operators/shapes.h"
#include "host/space/operators/tail.h"
#include "host/space/operators/window_operator.h"

namespace fettle::space {

namespace {

using Dim = std::pair<std::string, std::int64_t>;

Result<nlohmann::json> canonical(const nlohmann::json& json) {
  Fields fields(json);
  fields.word("layout", {"NHWC", "NCHW", kPackedImages}, "NHWC");
  fields.word("dtype", {"float32", "float16", "int8"}, "float32");
  fields.allow_tf32();
  fields.integer("batch", 1, 65536, 1);
  fields.integer("height", 1, 65536);
  fields.integer("width", 1, 65536);
  fields.integer("in_channels", 1, 65536);
  fields.integer("out_channels", 1, 65536);
  window_fields(fields, true);
  fields.integer("groups", 1, 65536, 1);
  // The only one that there is, for int8: not a part of the canonical form.
  if (json.contains("accumulate")) fields.word("accumulate", {"int32"});
  fields.tail();
  auto checked = fields.finish("conv2d");
  if (!checked) return checked;
  const nlohmann::json& f = *checked;
  if (f.contains("accumulate") && f["dtype"] != "int8") {
    return Error{ErrorCode::InvalidArgument, "conv2d: field \"accumulate\" is of int8 alone"};
  }
  checked->erase("accumulate");
  const std::int64_t ci = f["in_channels"], co = f["out_channels"], groups = f["groups"];
  auto right = require(ci % groups == 0 && co % groups == 0, "conv2d",
                       "groups " + std::to_string(groups) + " do not divide the channels");
  if (right && f["layout"] == kPackedImages) {
    right = require_blocks("conv2d", ci, co);
    if (right && groups != 1) {
      return Error{ErrorCode::Unsupported, "conv2d: no groups in blocks of channels"};
    }
  }
  if (right) right = check_window("conv2d", f, double(std::max(ci, co)));
  if (right) {
    right = require_size("conv2d", double(f["kernel"][0]) * double(f["kernel"][1]) *
                                       double(ci / groups) * double(co));
  }
  if (right) {
    right = require_sum("conv2d", f,
                        double(f["kernel"][0]) * double(f["kernel"][1]) * double(ci / groups));
  }
  if (!right) return std::move(right).error();
  return checked;
}

// The axes of a group and of a channel in it are one axis in memory. Without groups
// there is the channel only.
struct Channels {
  std::int64_t groups, extent;  // extent: of one group
  std::vector<Dim> dims(const char* group, const char* channel) const {
    if (groups == 1) return {{channel, extent}};
    return {{group, groups}, {channel, extent}};
  }
};

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// What stands at n, y, x and the channels, in the layout's order.
template <typename T>
std::vector<T> in_order(Layout layout, T n, T y, T x, const std::vector<T>& channels) {
  std::vector<T> out{n};
  if (layout == Layout::Nchw) append(out, channels);
  append(out, {y, x});
  if (layout == Layout::Nhwc) append(out, channels);
  return out;
}

ComputeDag dag(const OperatorCall& w) {
  if (w.word("layout") == kPackedImages) return packed_conv2d_dag(w);
  const Layout layout = layout_of(w);
  const bool nchw = layout == Layout::Nchw;
  const auto kernel = w.pair("kernel"), stride = w.pair("stride"), pad = w.pair("pad"),
             dilation = w.pair("dilation");
  const std::int64_t n = w.integer("batch"), groups = w.integer("groups");
  const Channels in{groups, w.integer("in_channels") / groups},
      out{groups, w.integer("out_channels") / groups};
  const auto extent = window_output(w);
  const double length = double(kernel[0] * kernel[1] * in.extent);

  ComputeDag dag;
  const ir::Scalar type = w.scalar();
  dag.stages.push_back(make_operand(type, "input",
                                    in_order<Dim>(layout, {"n", n}, {"y", w.integer("height")},
                                                  {"x", w.integer("width")}, in.dims("g", "c")),
                                    ir::Role::Input, kInputStream, 1));
  const Dim window[] = {{"kh", kernel[0]}, {"kw", kernel[1]}};
  std::vector<Dim> taps;
  if (nchw) {
    taps = out.dims("g", "oc");
    append(taps, {{"ic", in.extent}, window[0], window[1]});
  } else {
    taps = {window[0], window[1], {"ic", in.extent}};
    append(taps, out.dims("g", "oc"));
  }
  dag.stages.push_back(
      make_operand(type, "weight", taps, ir::Role::Constant, kWeightStream, 1 / std::sqrt(length)));
  const Stage weight = dag.stages.back();
  if (pad[0] > 0 || pad[1] > 0) {
    const std::vector<std::int64_t> none(groups == 1 ? 1 : 2, 0);
    const auto around = in_order<std::int64_t>(layout, 0, pad[0], pad[1], none);
    dag.stages.push_back(
        make_pad(dag.stages[0], around, around, ir::zero_of(dag.stages[0].buffer->type)));
  }
  const Stage source = dag.stages.back().name == "pad" ? dag.stages.back() : dag.stages[0];

  const Axis an = make_axis("n", n), ay = make_axis("y", extent[0]), ax = make_axis("x", extent[1]),
             kh = make_axis("kh", kernel[0]), kw = make_axis("kw", kernel[1]),
             ic = make_axis("ic", in.extent);
  std::vector<Axis> channels;
  for (const auto& [name, size] : out.dims("g", "oc")) channels.push_back(make_axis(name, size));
  const auto v = [](const Axis& axis) { return ir::var_ref(axis.var); };
  const ir::Expr y = v(ay) * ir::int_imm(stride[0]) + v(kh) * ir::int_imm(dilation[0]),
                 x = v(ax) * ir::int_imm(stride[1]) + v(kw) * ir::int_imm(dilation[1]);
  std::vector<ir::Expr> from{v(ic)}, of;
  if (groups > 1) from.insert(from.begin(), v(channels[0]));
  for (const Axis& axis : channels) of.push_back(v(axis));
  std::vector<ir::Expr> tap;
  if (nchw) {
    tap = of;
    append(tap, {v(ic), v(kh), v(kw)});
  } else {
    tap = {v(kh), v(kw), v(ic)};
    append(tap, of);
  }
  dag.stages.push_back(
      make_stage("conv", in_order(layout, an, ay, ax, channels),
                 nchw ? std::vector<Axis>{ic, kh, kw} : std::vector<Axis>{kh, kw, ic},
                 product(at(source, in_order(layout, v(an), y, x, from)), at(weight, tap))));
  append_tail(dag, w, {"g", "oc"});
  return dag;
}

double output_elements(const OperatorCall& w) {
  const auto out = window_output(w);
  return double(w.integer("batch")) * double(out[0]) * double(out[1]) *
         double(w.integer("out_channels"));
}

double operations(const OperatorCall& w) {
  const auto kernel = w.pair("kernel");
  return 2.0 * output_elements(w) *
         double(kernel[0] * kernel[1] * (w.integer("in_channels") / w.integer("groups")));
}

std::string title(const OperatorCall& w) {
  std::string s = "conv2d ";
  if (w.integer("batch") != 1) s += "n" + std::to_string(w.integer("batch")) + " ";
  s += std::to_string(w.integer("height")) + "x" + std::to_string(w.integer("width")) + "x" +
       std::to_string(w.integer("in_channels")) + "→" + std::to_string(w.integer("out_channels"));
  if (w.word("layout") != "NHWC") s += " " + w.word("layout");
  if (w.integer("groups") != 1) s += " g" + std::to_string(w.integer("groups"));
  return s + window_title(w);
}

}  // namespace

const Operator kConv2d{"conv2d", canonical, dag, operations, output_elements, title};

}  // namespace fettle::space
