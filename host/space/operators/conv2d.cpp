// conv2d: NHWC input, weights [kernel y][kernel x][in][out], float32.
#include <cmath>

#include "host/space/operators/operator.h"
#include "host/space/operators/window_operator.h"

namespace fettle::space {

namespace {

Result<nlohmann::json> canonical(const nlohmann::json& json) {
  Fields fields(json);
  fields.word("layout", {"NHWC"}, "NHWC");
  fields.word("dtype", {"float32"}, "float32");
  fields.integer("batch", 1, 65536, 1);
  fields.integer("height", 1, 65536);
  fields.integer("width", 1, 65536);
  fields.integer("in_channels", 1, 65536);
  fields.integer("out_channels", 1, 65536);
  window_fields(fields, true);
  fields.integer("groups", 1, 65536, 1);
  fields.tail();
  auto checked = fields.finish("conv2d");
  if (!checked) return checked;
  const nlohmann::json& f = *checked;
  if (f["groups"] != 1) {
    return Error{ErrorCode::Unsupported,
                 "conv2d with groups " + f["groups"].dump() + "; supported: 1"};
  }
  const auto [out_y, out_x] = window_output(f);
  if (out_y < 1 || out_x < 1) {
    return Error{ErrorCode::InvalidArgument, "conv2d: the kernel " + f["kernel"].dump() +
                                                 " is larger than the padded input of " +
                                                 f["height"].dump() + "x" + f["width"].dump()};
  }
  const double n = f["batch"], ci = f["in_channels"], co = f["out_channels"];
  const double h = f["height"], w = f["width"];
  const double ky = f["kernel"][0], kx = f["kernel"][1], py = f["pad"][0], px = f["pad"][1];
  // Element numbers are 32-bit in generated code.
  constexpr double kMost = double(1 << 30);
  if (n * (h + 2 * py) * (w + 2 * px) * ci > kMost ||
      n * double(out_y) * double(out_x) * co > kMost || ky * kx * ci * co > kMost) {
    return Error{ErrorCode::InvalidArgument, "conv2d: a tensor has more than 2^30 elements"};
  }
  return checked;
}

ComputeDag dag(const Workload& w) {
  using ir::int_imm;
  using ir::var_ref;
  const auto kernel = w.pair("kernel"), stride = w.pair("stride"), pad = w.pair("pad"),
             dilation = w.pair("dilation");
  const std::int64_t n = w.integer("batch"), h = w.integer("height"), wd = w.integer("width"),
                     ci = w.integer("in_channels"), co = w.integer("out_channels");
  const auto out = window_output(w);
  const double length = double(kernel[0] * kernel[1] * ci);

  ComputeDag dag;
  dag.stages.push_back(make_placeholder("input", {{"n", n}, {"y", h}, {"x", wd}, {"c", ci}},
                                        ir::Role::Input, kInputStream, 1));
  dag.stages.push_back(
      make_placeholder("weight", {{"kh", kernel[0]}, {"kw", kernel[1]}, {"ic", ci}, {"oc", co}},
                       ir::Role::Constant, kWeightStream, 1 / std::sqrt(length)));
  if (pad[0] > 0 || pad[1] > 0) {
    dag.stages.push_back(make_pad(dag.stages[0], {0, pad[0], pad[1], 0}, {0, pad[0], pad[1], 0},
                                  ir::zero_of(ir::kFloat32)));
  }
  const Stage& source = dag.stages.back().name == "pad" ? dag.stages[2] : dag.stages[0];
  std::vector<Axis> axes = {make_axis("n", n), make_axis("y", out[0]), make_axis("x", out[1]),
                            make_axis("oc", co)};
  std::vector<Axis> reduce = {make_axis("kh", kernel[0]), make_axis("kw", kernel[1]),
                              make_axis("ic", ci)};
  const auto v = [](const Axis& axis) { return var_ref(axis.var); };
  const ir::Expr pixel =
      at(source,
         {v(axes[0]), v(axes[1]) * int_imm(stride[0]) + v(reduce[0]) * int_imm(dilation[0]),
          v(axes[2]) * int_imm(stride[1]) + v(reduce[1]) * int_imm(dilation[1]), v(reduce[2])});
  const ir::Expr weight = at(dag.stages[1], {v(reduce[0]), v(reduce[1]), v(reduce[2]), v(axes[3])});
  dag.stages.push_back(make_stage("conv", axes, reduce, pixel * weight));
  append_tail(dag, w);
  return dag;
}

double output_elements(const Workload& w) {
  const auto out = window_output(w);
  return double(w.integer("batch")) * double(out[0]) * double(out[1]) *
         double(w.integer("out_channels"));
}

double operations(const Workload& w) {
  const auto kernel = w.pair("kernel");
  return 2.0 * output_elements(w) * double(kernel[0] * kernel[1] * w.integer("in_channels"));
}

std::string title(const Workload& w) {
  std::string s = "conv2d ";
  if (w.integer("batch") != 1) s += "n" + std::to_string(w.integer("batch")) + " ";
  s += std::to_string(w.integer("height")) + "x" + std::to_string(w.integer("width")) + "x" +
       std::to_string(w.integer("in_channels")) + "→" + std::to_string(w.integer("out_channels"));
  return s + window_title(w);
}

}  // namespace

const Operator kConv2d{"conv2d", canonical, dag, operations, output_elements, title};

}  // namespace fettle::space
