// conv2d: NHWC input, weights [kernel y][kernel x][in][out], float32.
#include <cmath>

#include "host/space/operators/fields.h"
#include "host/space/operators/operator.h"
#include "host/space/operators/stages.h"

namespace fettle::space {

std::array<std::int64_t, 2> conv2d_output(const nlohmann::json& f) {
  std::array<std::int64_t, 2> out;
  const char* extents[] = {"height", "width"};
  for (int d = 0; d < 2; ++d) {
    const std::int64_t padded =
        f[extents[d]].get<std::int64_t>() + 2 * f["pad"][d].get<std::int64_t>();
    const std::int64_t window =
        (f["kernel"][d].get<std::int64_t>() - 1) * f["dilation"][d].get<std::int64_t>() + 1;
    out[d] = padded < window ? 0 : (padded - window) / f["stride"][d].get<std::int64_t>() + 1;
  }
  return out;
}

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
  fields.pair("kernel", 1, 255);
  fields.pair("stride", 1, 255, 1);
  fields.pair("pad", 0, 255, 0);
  fields.pair("dilation", 1, 255, 1);
  fields.integer("groups", 1, 65536, 1);
  fields.tail();
  auto checked = fields.finish("conv2d");
  if (!checked) return checked;
  const nlohmann::json& f = *checked;
  if (f["groups"] != 1) {
    return Error{ErrorCode::Unsupported,
                 "conv2d with groups " + f["groups"].dump() + "; supported: 1"};
  }
  const auto [out_y, out_x] = conv2d_output(f);
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
  const auto out = conv2d_output(nlohmann::json::parse(w.canonical()));
  const double length = double(kernel[0] * kernel[1] * ci);

  ComputeDag dag;
  dag.stages.push_back(make_placeholder("input", {{"n", n}, {"y", h}, {"x", wd}, {"c", ci}},
                                        ir::Role::Input, kInputStream, 1));
  dag.stages.push_back(
      make_placeholder("weight", {{"kh", kernel[0]}, {"kw", kernel[1]}, {"ic", ci}, {"oc", co}},
                       ir::Role::Constant, kWeightStream, 1 / std::sqrt(length)));
  if (pad[0] > 0 || pad[1] > 0) {
    std::vector<Axis> axes = {make_axis("n", n), make_axis("y", h + 2 * pad[0]),
                              make_axis("x", wd + 2 * pad[1]), make_axis("c", ci)};
    const ir::Expr y = var_ref(axes[1].var) - int_imm(pad[0]);
    const ir::Expr x = var_ref(axes[2].var) - int_imm(pad[1]);
    ir::Expr inside;
    const auto require = [&](ir::Expr condition) {
      inside = inside ? ir::binary(ir::BinaryOp::And, inside, condition) : condition;
    };
    if (pad[0] > 0) {
      require(ir::binary(ir::BinaryOp::Le, int_imm(0), y));
      require(ir::binary(ir::BinaryOp::Lt, y, int_imm(h)));
    }
    if (pad[1] > 0) {
      require(ir::binary(ir::BinaryOp::Le, int_imm(0), x));
      require(ir::binary(ir::BinaryOp::Lt, x, int_imm(wd)));
    }
    const ir::Expr body =
        ir::load(dag.stages[0].buffer, {var_ref(axes[0].var), y, x, var_ref(axes[3].var)}, inside);
    dag.stages.push_back(make_stage("pad", axes, {}, body));
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
  const auto out = conv2d_output(nlohmann::json::parse(w.canonical()));
  return double(w.integer("batch")) * double(out[0]) * double(out[1]) *
         double(w.integer("out_channels"));
}

double operations(const Workload& w) {
  const auto kernel = w.pair("kernel");
  return 2.0 * output_elements(w) * double(kernel[0] * kernel[1] * w.integer("in_channels"));
}

std::string both(const std::array<std::int64_t, 2>& p) {
  return p[0] == p[1] ? std::to_string(p[0]) : std::to_string(p[0]) + "x" + std::to_string(p[1]);
}

std::string title(const Workload& w) {
  std::string s = "conv2d ";
  if (w.integer("batch") != 1) s += "n" + std::to_string(w.integer("batch")) + " ";
  s += std::to_string(w.integer("height")) + "x" + std::to_string(w.integer("width")) + "x" +
       std::to_string(w.integer("in_channels")) + "→" + std::to_string(w.integer("out_channels"));
  s += " k" + both(w.pair("kernel")) + " s" + both(w.pair("stride"));
  if (w.pair("dilation") != std::array<std::int64_t, 2>{1, 1}) s += " d" + both(w.pair("dilation"));
  return s;
}

}  // namespace

const Operator kConv2d{"conv2d", canonical, dag, operations, output_elements, title};

}  // namespace fettle::space
