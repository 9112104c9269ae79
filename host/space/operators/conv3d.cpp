// conv3d: volumes [n][z][y][x][c], weights [kernel z][kernel y][kernel x][in][out], float32,
// float16, or int8 with int32 sums.
#include <algorithm>
#include <array>
#include <cmath>

#include "host/space/operators/fields.h"
#include "host/space/operators/operator.h"
#include "host/space/operators/shapes.h"
#include "host/space/operators/stages.h"
#include "host/space/operators/tail.h"

namespace fettle::space {

namespace {

constexpr std::size_t kDims = 3;
constexpr const char* kExtents[kDims] = {"depth", "height", "width"};

Shape output_shape(const Shape& extents, const Shape& kernel, const Shape& stride, const Shape& pad,
                   const Shape& dilation) {
  Shape out;
  for (std::size_t d = 0; d < kDims; ++d) {
    const std::int64_t window = (kernel[d] - 1) * dilation[d] + 1, padded = extents[d] + 2 * pad[d];
    out.push_back(padded < window ? 0 : (padded - window) / stride[d] + 1);
  }
  return out;
}

Shape extents_of(const nlohmann::json& fields) {
  Shape extents;
  for (const char* name : kExtents) extents.push_back(fields[name]);
  return extents;
}

Result<nlohmann::json> canonical(const nlohmann::json& json) {
  Fields fields(json);
  fields.word("layout", {"NDHWC"}, "NDHWC");
  fields.word("dtype", {"float32", "float16", "int8"}, "float32");
  fields.allow_tf32();
  fields.integer("batch", 1, 65536, 1);
  for (const char* name : kExtents) fields.integer(name, 1, 65536);
  fields.integer("in_channels", 1, 65536);
  fields.integer("out_channels", 1, 65536);
  fields.list("kernel", kDims, kDims, 1, 255);
  fields.list("stride", kDims, kDims, 1, 255, Shape{1, 1, 1});
  fields.list("pad", kDims, kDims, 0, 255, Shape{0, 0, 0});
  fields.list("dilation", kDims, kDims, 1, 255, Shape{1, 1, 1});
  fields.tail();
  auto checked = fields.finish("conv3d");
  if (!checked) return checked;
  const nlohmann::json& f = *checked;
  const Shape kernel = f["kernel"], pad = f["pad"];
  const Shape out = output_shape(extents_of(f), kernel, f["stride"], pad, f["dilation"]);
  Shape padded = extents_of(f);
  for (std::size_t d = 0; d < kDims; ++d) padded[d] += 2 * pad[d];
  const double n = f["batch"], ci = f["in_channels"], co = f["out_channels"];
  auto right = require(
      *std::min_element(out.begin(), out.end()) > 0, "conv3d",
      "the kernel " + to_text(kernel) + " is larger than the padded input of " + to_text(padded));
  if (right) {
    right =
        require_size("conv3d", std::max({n * elements_of(padded) * ci, n * elements_of(out) * co,
                                         elements_of(kernel) * ci * co}));
  }
  if (right) right = require_sum("conv3d", f, elements_of(kernel) * ci);
  if (!right) return std::move(right).error();
  return checked;
}

Shape output_shape(const OperatorCall& w) {
  return output_shape(extents_of(nlohmann::json::parse(w.canonical())), w.list("kernel"),
                      w.list("stride"), w.list("pad"), w.list("dilation"));
}

ComputeDag dag(const OperatorCall& w) {
  const Shape kernel = w.list("kernel"), stride = w.list("stride"), pad = w.list("pad"),
              dilation = w.list("dilation"), out = output_shape(w);
  const std::int64_t n = w.integer("batch"), ci = w.integer("in_channels"),
                     co = w.integer("out_channels");
  ComputeDag dag;
  const ir::Scalar type = w.scalar();
  dag.stages.push_back(make_operand(type, "input",
                                    {{"n", n},
                                     {"z", w.integer("depth")},
                                     {"y", w.integer("height")},
                                     {"x", w.integer("width")},
                                     {"c", ci}},
                                    ir::Role::Input, kInputStream, 1));
  dag.stages.push_back(make_operand(
      type, "weight",
      {{"kd", kernel[0]}, {"kh", kernel[1]}, {"kw", kernel[2]}, {"ic", ci}, {"oc", co}},
      ir::Role::Constant, kWeightStream, 1 / std::sqrt(elements_of(kernel) * double(ci))));
  const Stage weight = dag.stages.back();
  if (std::any_of(pad.begin(), pad.end(), [](std::int64_t p) { return p > 0; })) {
    const Shape around{0, pad[0], pad[1], pad[2], 0};
    dag.stages.push_back(make_pad(dag.stages[0], around, around, ir::zero_of({type, 1})));
  }
  const Stage source = dag.stages.back().name == "pad" ? dag.stages.back() : dag.stages[0];
  const std::array places{make_axis("z", out[0]), make_axis("y", out[1]), make_axis("x", out[2])};
  const std::array taps{make_axis("kd", kernel[0]), make_axis("kh", kernel[1]),
                        make_axis("kw", kernel[2])};
  const Axis an = make_axis("n", n), oc = make_axis("oc", co), ic = make_axis("ic", ci);
  std::vector<ir::Expr> from{ir::var_ref(an.var)}, tap;
  for (std::size_t d = 0; d < kDims; ++d) {
    from.push_back(ir::var_ref(places[d].var) * ir::int_imm(stride[d]) +
                   ir::var_ref(taps[d].var) * ir::int_imm(dilation[d]));
    tap.push_back(ir::var_ref(taps[d].var));
  }
  from.push_back(ir::var_ref(ic.var));
  tap.push_back(ir::var_ref(ic.var));
  tap.push_back(ir::var_ref(oc.var));
  dag.stages.push_back(make_stage("conv", {an, places[0], places[1], places[2], oc},
                                  {taps[0], taps[1], taps[2], ic},
                                  product(at(source, from), at(weight, tap))));
  append_tail(dag, w);
  return dag;
}

double output_elements(const OperatorCall& w) {
  return double(w.integer("batch")) * elements_of(output_shape(w)) *
         double(w.integer("out_channels"));
}

double operations(const OperatorCall& w) {
  return 2.0 * output_elements(w) * elements_of(w.list("kernel")) *
         double(w.integer("in_channels"));
}

std::string title(const OperatorCall& w) {
  std::string s = "conv3d ";
  if (w.integer("batch") != 1) s += "n" + std::to_string(w.integer("batch")) + " ";
  for (const char* name : kExtents) s += std::to_string(w.integer(name)) + "x";
  return s + std::to_string(w.integer("in_channels")) + "→" +
         std::to_string(w.integer("out_channels")) + " k" + to_text(w.list("kernel")) + " s" +
         to_text(w.list("stride"));
}

}  // namespace

const Operator kConv3d{"conv3d", canonical, dag, operations, output_elements, title};

}  // namespace fettle::space
