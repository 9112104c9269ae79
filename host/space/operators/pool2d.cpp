// max_pool2d, avg_pool2d and global_avg_pool2d: NHWC or NCHW images, float32, float16 or
// int8; max_pool2d also int8 images in blocks of channels (packed.h), without a tail. A mean of
// int8 is rounded to the nearest one, halves upward.
// avg_pool2d divides by the elements under the window that are in the image; with
// count_include_pad also by those around it.
#include <cmath>

#include "host/space/operators/operator.h"
#include "host/space/operators/packed.h"
#include "host/space/operators/shapes.h"
#include "host/space/operators/tail.h"
#include "host/space/operators/window_operator.h"

namespace fettle::space {

namespace {

using Dim = std::pair<std::string, std::int64_t>;

void image_fields(Fields& fields, std::vector<std::string> layouts) {
  fields.word("layout", std::move(layouts), "NHWC");
  fields.word("dtype", {"float32", "float16", "int8"}, "float32");
  fields.integer("batch", 1, 65536, 1);
  fields.integer("height", 1, 65536);
  fields.integer("width", 1, 65536);
  fields.integer("channels", 1, 65536);
}

Result<nlohmann::json> finish(Fields& fields, const char* op) {
  fields.tail();
  auto checked = fields.finish(op);
  if (!checked) return checked;
  auto fits = check_window(op, *checked, (*checked)["channels"]);
  if (!fits) return std::move(fits).error();
  // A window that holds padding only has no largest element and no mean.
  for (int d = 0; d < 2; ++d) {
    if ((*checked)["pad"][d] >= (*checked)["kernel"][d]) {
      return Error{ErrorCode::InvalidArgument,
                   std::string(op) + ": the padding is not smaller than the kernel"};
    }
  }
  return checked;
}

Result<nlohmann::json> canonical_max(const nlohmann::json& json) {
  Fields fields(json);
  image_fields(fields, {"NHWC", "NCHW", kPackedImages});
  window_fields(fields, false);
  auto checked = finish(fields, "max_pool2d");
  if (!checked || (*checked)["layout"] != kPackedImages) return checked;
  if ((*checked)["dtype"] != "int8" || !(*checked)["tail"].empty()) {
    return Error{ErrorCode::Unsupported,
                 "max_pool2d: in the layout NCHW1n16c only of int8 and without a tail"};
  }
  const std::int64_t channels = (*checked)["channels"];
  if (auto whole = require_blocks("max_pool2d", channels, channels); !whole) {
    return std::move(whole).error();
  }
  return checked;
}

Result<nlohmann::json> canonical_avg(const nlohmann::json& json) {
  Fields fields(json);
  image_fields(fields, {"NHWC", "NCHW"});
  window_fields(fields, false);
  fields.integer("count_include_pad", 0, 1, 0);
  auto checked = finish(fields, "avg_pool2d");
  if (!checked) return checked;
  auto fits = require_mean("avg_pool2d", *checked,
                           double((*checked)["kernel"][0]) * double((*checked)["kernel"][1]));
  if (!fits) return std::move(fits).error();
  return checked;
}

Result<nlohmann::json> canonical_global(const nlohmann::json& json) {
  Fields fields(json);
  image_fields(fields, {"NHWC", "NCHW"});
  fields.tail();
  auto checked = fields.finish("global_avg_pool2d");
  if (!checked) return checked;
  const double n = (*checked)["batch"], h = (*checked)["height"], w = (*checked)["width"],
               c = (*checked)["channels"];
  if (n * h * w * c > double(1 << 30)) {
    return Error{ErrorCode::InvalidArgument,
                 "global_avg_pool2d: a tensor has more than 2^30 elements"};
  }
  auto mean = require_mean("global_avg_pool2d", *checked, h * w);
  if (!mean) return std::move(mean).error();
  return checked;
}

Stage make_image(const OperatorCall& w, double scale) {
  return make_operand(
      w.scalar(), "input",
      in_layout<Dim>(layout_of(w), {"n", w.integer("batch")}, {"y", w.integer("height")},
                     {"x", w.integer("width")}, {"c", w.integer("channels")}),
      ir::Role::Input, kInputStream, scale);
}

// Elements under the window at `out` along one dimension, as int32.
ir::Expr count_along(const Axis& out, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                     std::int64_t extent, bool with_pad) {
  if (pad == 0 || with_pad) return ir::int_imm(kernel);
  const ir::Expr begin = ir::var_ref(out.var) * ir::int_imm(stride) - ir::int_imm(pad);
  return ir::binary(ir::BinaryOp::Min, begin + ir::int_imm(kernel), ir::int_imm(extent)) -
         ir::binary(ir::BinaryOp::Max, begin, ir::int_imm(0));
}

ir::Expr reciprocal(const ir::Expr& count) {
  return ir::binary(ir::BinaryOp::Div, ir::float_imm(1), ir::cast(ir::kFloat32, count));
}

// sum / count as the workload's type is computed.
ir::Expr mean_of(const OperatorCall& w, const ir::Expr& sum, const ir::Expr& count) {
  return w.scalar() == ir::Scalar::Int8 ? int8_mean(sum, count) : sum * reciprocal(count);
}

ComputeDag pool(const OperatorCall& w, bool max) {
  const auto kernel = w.pair("kernel"), stride = w.pair("stride"), pad = w.pair("pad");
  const auto out = window_output(w);
  ComputeDag dag;
  // A mean is a sum of K terms of size 1 / K: scaled so that it is O(1) as a convolution is.
  dag.stages.push_back(make_image(w, max ? 1 : std::sqrt(double(kernel[0] * kernel[1]))));
  const Combiner combiner = max ? Combiner::Max : Combiner::Sum;
  const Stage image =
      padded(dag, dag.stages[0], w, neutral_of(combiner, dag.stages[0].buffer->type));
  const auto axis_set = [&] {
    return std::array{make_axis("n", w.integer("batch")), make_axis("y", out[0]),
                      make_axis("x", out[1]), make_axis("c", w.integer("channels"))};
  };
  const auto in_order = [&](const std::array<Axis, 4>& a) {
    return in_layout(layout_of(w), a[0], a[1], a[2], a[3]);
  };
  const auto a = axis_set();
  const Axis kh = make_axis("kh", kernel[0]), kw = make_axis("kw", kernel[1]);
  const ir::Expr element = under_window(image, w, a[0], a[1], a[2], ir::var_ref(a[3].var), kh, kw);
  const bool narrow = max && w.scalar() == ir::Scalar::Int8;  // the largest needs no more bits
  dag.stages.push_back(
      make_stage("pool", in_order(a), {kh, kw}, narrow ? element : widened(element), combiner));
  if (!max) {
    const bool with_pad = w.integer("count_include_pad") == 1;
    const auto b = axis_set();
    std::vector<ir::Expr> index;
    for (const Axis& axis : in_order(b)) index.push_back(ir::var_ref(axis.var));
    const ir::Expr count =
        count_along(b[1], kernel[0], stride[0], pad[0], w.integer("height"), with_pad) *
        count_along(b[2], kernel[1], stride[1], pad[1], w.integer("width"), with_pad);
    dag.stages.push_back(
        make_stage("mean", in_order(b), {}, mean_of(w, at(dag.stages.back(), index), count)));
  }
  append_tail(dag, w, {"c"});
  return dag;
}

ComputeDag max_dag(const OperatorCall& w) {
  return w.word("layout") == kPackedImages ? packed_max_pool2d_dag(w) : pool(w, true);
}
ComputeDag avg_dag(const OperatorCall& w) { return pool(w, false); }

ComputeDag global_dag(const OperatorCall& w) {
  const std::int64_t h = w.integer("height"), wd = w.integer("width");
  ComputeDag dag;
  dag.stages.push_back(make_image(w, std::sqrt(double(h * wd))));
  const Axis n = make_axis("n", w.integer("batch")), c = make_axis("c", w.integer("channels")),
             y = make_axis("y", h), x = make_axis("x", wd);
  dag.stages.push_back(make_stage(
      "pool", {n, c}, {y, x},
      widened(at(dag.stages[0], in_layout(layout_of(w), ir::var_ref(n.var), ir::var_ref(y.var),
                                          ir::var_ref(x.var), ir::var_ref(c.var))))));
  const Axis mn = make_axis("n", n.extent), mc = make_axis("c", c.extent);
  const ir::Expr sum = at(dag.stages.back(), {ir::var_ref(mn.var), ir::var_ref(mc.var)});
  dag.stages.push_back(make_stage("mean", {mn, mc}, {}, mean_of(w, sum, ir::int_imm(h * wd))));
  append_tail(dag, w);
  return dag;
}

double operations(const OperatorCall& w) {
  const auto kernel = w.pair("kernel");
  return window_elements(w) * double(kernel[0] * kernel[1]);
}

double global_elements(const OperatorCall& w) {
  return double(w.integer("batch")) * double(w.integer("channels"));
}

double global_operations(const OperatorCall& w) {
  return global_elements(w) * double(w.integer("height")) * double(w.integer("width"));
}

std::string max_title(const OperatorCall& w) {
  return "max_pool2d " + image_title(w) + window_title(w);
}
std::string avg_title(const OperatorCall& w) {
  return "avg_pool2d " + image_title(w) + window_title(w);
}
std::string global_title(const OperatorCall& w) { return "global_avg_pool2d " + image_title(w); }

}  // namespace

const Operator kMaxPool2d{"max_pool2d", canonical_max,   max_dag,
                          operations,   window_elements, max_title};
const Operator kAvgPool2d{"avg_pool2d", canonical_avg,   avg_dag,
                          operations,   window_elements, avg_title};
const Operator kGlobalAvgPool2d{"global_avg_pool2d", canonical_global, global_dag,
                                global_operations,   global_elements,  global_title};

}  // namespace fettle::space
