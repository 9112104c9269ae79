// depthwise_conv2d: every channel by its own window. Weights [kernel y][kernel x][c]
// with an NHWC image, [c][kernel y][kernel x] with an NCHW one; float32, float16, or int8 with
// int32 sums.
#include <cmath>

#include "host/space/operators/operator.h"
#include "host/space/operators/tail.h"
#include "host/space/operators/window_operator.h"

namespace fettle::space {

namespace {

Result<nlohmann::json> canonical(const nlohmann::json& json) {
  Fields fields(json);
  fields.word("layout", {"NHWC", "NCHW"}, "NHWC");
  fields.word("dtype", {"float32", "float16", "int8"}, "float32");
  fields.integer("batch", 1, 65536, 1);
  fields.integer("height", 1, 65536);
  fields.integer("width", 1, 65536);
  fields.integer("channels", 1, 65536);
  window_fields(fields, true);
  fields.tail();
  auto checked = fields.finish("depthwise_conv2d");
  if (!checked) return checked;
  auto fits = check_window("depthwise_conv2d", *checked, (*checked)["channels"]);
  if (!fits) return std::move(fits).error();
  return checked;
}

ComputeDag dag(const OperatorCall& w) {
  const Layout layout = layout_of(w);
  const auto kernel = w.pair("kernel");
  const auto out = window_output(w);
  const std::int64_t n = w.integer("batch"), c = w.integer("channels");
  ComputeDag dag;
  using Dim = std::pair<std::string, std::int64_t>;
  const ir::Scalar type = w.scalar();
  dag.stages.push_back(make_operand(type, "input",
                                    in_layout<Dim>(layout, {"n", n}, {"y", w.integer("height")},
                                                   {"x", w.integer("width")}, {"c", c}),
                                    ir::Role::Input, kInputStream, 1));
  const Stage input = dag.stages.back();
  std::vector<Dim> taps{{"kh", kernel[0]}, {"kw", kernel[1]}};
  taps.insert(layout == Layout::Nchw ? taps.begin() : taps.end(), {"c", c});
  dag.stages.push_back(make_operand(type, "weight", taps, ir::Role::Constant, kWeightStream,
                                    1 / std::sqrt(double(kernel[0] * kernel[1]))));
  const Stage weight = dag.stages.back();
  const Stage image = padded(dag, input, w, ir::zero_of(input.buffer->type));
  const Axis an = make_axis("n", n), ay = make_axis("y", out[0]), ax = make_axis("x", out[1]),
             ac = make_axis("c", c), kh = make_axis("kh", kernel[0]),
             kw = make_axis("kw", kernel[1]);
  std::vector<ir::Expr> tap{ir::var_ref(kh.var), ir::var_ref(kw.var)};
  tap.insert(layout == Layout::Nchw ? tap.begin() : tap.end(), ir::var_ref(ac.var));
  dag.stages.push_back(make_stage(
      "conv", in_layout(layout, an, ay, ax, ac), {kh, kw},
      product(under_window(image, w, an, ay, ax, ir::var_ref(ac.var), kh, kw), at(weight, tap))));
  append_tail(dag, w, {"c"});
  return dag;
}

double operations(const OperatorCall& w) {
  const auto kernel = w.pair("kernel");
  return 2.0 * window_elements(w) * double(kernel[0] * kernel[1]);
}

std::string title(const OperatorCall& w) {
  return "depthwise_conv2d " + image_title(w) + window_title(w);
}

}  // namespace

const Operator kDepthwiseConv2d{"depthwise_conv2d", canonical,       dag,
                                operations,         window_elements, title};

}  // namespace fettle::space
