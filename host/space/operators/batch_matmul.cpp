// batch_matmul: [batch][m][k] times [batch][k][n], both inputs; float32, float16, or int8 with
// int32 sums.
#include <algorithm>
#include <cmath>

#include "host/space/operators/fields.h"
#include "host/space/operators/operator.h"
#include "host/space/operators/shapes.h"
#include "host/space/operators/stages.h"
#include "host/space/operators/tail.h"

namespace fettle::space {

namespace {

Result<nlohmann::json> canonical(const nlohmann::json& json) {
  Fields fields(json);
  fields.word("dtype", {"float32", "float16", "int8"}, "float32");
  fields.allow_tf32();
  fields.integer("batch", 1, 65536, 1);
  fields.integer("m", 1, 1 << 20);
  fields.integer("n", 1, 1 << 20);
  fields.integer("k", 1, 1 << 20);
  fields.tail();
  auto checked = fields.finish("batch_matmul");
  if (!checked) return checked;
  const double b = (*checked)["batch"], m = (*checked)["m"], n = (*checked)["n"],
               k = (*checked)["k"];
  auto right = require_size("batch_matmul", b * std::max({m * k, k * n, m * n}));
  if (right) right = require_sum("batch_matmul", *checked, k);
  if (!right) return std::move(right).error();
  return checked;
}

ComputeDag dag(const OperatorCall& w) {
  const std::int64_t batch = w.integer("batch"), m = w.integer("m"), n = w.integer("n"),
                     k = w.integer("k");
  ComputeDag dag;
  const ir::Scalar type = w.scalar();
  dag.stages.push_back(make_operand(type, "input", {{"b", batch}, {"m", m}, {"k", k}},
                                    ir::Role::Input, kInputStream, 1));
  dag.stages.push_back(make_operand(type, "input_b", {{"b", batch}, {"k", k}, {"n", n}},
                                    ir::Role::Input, kSecondStream, 1 / std::sqrt(double(k))));
  const Axis ab = make_axis("b", batch), am = make_axis("m", m), an = make_axis("n", n),
             ak = make_axis("k", k);
  const ir::Expr vb = ir::var_ref(ab.var), vk = ir::var_ref(ak.var);
  dag.stages.push_back(make_stage("matmul", {ab, am, an}, {ak},
                                  product(at(dag.stages[0], {vb, ir::var_ref(am.var), vk}),
                                          at(dag.stages[1], {vb, vk, ir::var_ref(an.var)}))));
  append_tail(dag, w);
  return dag;
}

double output_elements(const OperatorCall& w) {
  return double(w.integer("batch")) * double(w.integer("m")) * double(w.integer("n"));
}

double operations(const OperatorCall& w) {
  return 2.0 * output_elements(w) * double(w.integer("k"));
}

std::string title(const OperatorCall& w) {
  return "batch_matmul " + std::to_string(w.integer("batch")) + " of " +
         std::to_string(w.integer("m")) + "x" + std::to_string(w.integer("k")) + "x" +
         std::to_string(w.integer("n"));
}

}  // namespace

const Operator kBatchMatmul{"batch_matmul", canonical, dag, operations, output_elements, title};

}  // namespace fettle::space
