// dense: input [batch][in], weights [in][out], or both in blocks of channels (packed.h); float32,
// float16, or int8 with int32 sums.
#include <algorithm>
#include <cmath>

#include "host/space/operators/fields.h"
#include "host/space/operators/operator.h"
#include "host/space/operators/packed.h"
#include "host/space/operators/shapes.h"
#include "host/space/operators/stages.h"
#include "host/space/operators/tail.h"

namespace fettle::space {

namespace {

Result<nlohmann::json> canonical(const nlohmann::json& json) {
  Fields fields(json);
  if (json.contains("layout")) fields.word("layout", {kPackedRows});
  fields.word("dtype", {"float32", "float16", "int8"}, "float32");
  fields.allow_tf32();
  fields.integer("batch", 1, 65536, 1);
  fields.integer("in_features", 1, 1 << 20);
  fields.integer("out_features", 1, 1 << 20);
  fields.tail();
  auto checked = fields.finish("dense");
  if (!checked) return checked;
  const double n = (*checked)["batch"], in = (*checked)["in_features"],
               out = (*checked)["out_features"];
  auto right = require_size("dense", std::max({n * in, n * out, in * out}));
  if (right) right = require_sum("dense", *checked, in);
  if (right && checked->contains("layout")) {
    right = require_blocks("dense", (*checked)["in_features"], (*checked)["out_features"]);
  }
  if (!right) return std::move(right).error();
  return checked;
}

ComputeDag dag(const OperatorCall& w) {
  if (w.has("layout")) return packed_dense_dag(w);
  const std::int64_t n = w.integer("batch"), in = w.integer("in_features"),
                     out = w.integer("out_features");
  ComputeDag dag;
  const ir::Scalar type = w.scalar();
  dag.stages.push_back(
      make_operand(type, "input", {{"n", n}, {"k", in}}, ir::Role::Input, kInputStream, 1));
  dag.stages.push_back(make_operand(type, "weight", {{"k", in}, {"oc", out}}, ir::Role::Constant,
                                    kWeightStream, 1 / std::sqrt(double(in))));
  std::vector<Axis> axes = {make_axis("n", n), make_axis("oc", out)};
  std::vector<Axis> reduce = {make_axis("k", in)};
  const ir::Expr body =
      product(at(dag.stages[0], {ir::var_ref(axes[0].var), ir::var_ref(reduce[0].var)}),
              at(dag.stages[1], {ir::var_ref(reduce[0].var), ir::var_ref(axes[1].var)}));
  dag.stages.push_back(make_stage("dense", axes, reduce, body));
  append_tail(dag, w);
  return dag;
}

double output_elements(const OperatorCall& w) {
  return double(w.integer("batch")) * double(w.integer("out_features"));
}

double operations(const OperatorCall& w) {
  return 2.0 * output_elements(w) * double(w.integer("in_features"));
}

std::string title(const OperatorCall& w) {
  std::string s = "dense ";
  if (w.integer("batch") != 1) s += "n" + std::to_string(w.integer("batch")) + " ";
  return s + std::to_string(w.integer("in_features")) + "→" +
         std::to_string(w.integer("out_features")) +
         (w.has("layout") ? " " + w.word("layout") : "");
}

}  // namespace

const Operator kDense{"dense", canonical, dag, operations, output_elements, title};

}  // namespace fettle::space
