// softmax over the features of each row, and layer_norm: (x - mean) / sqrt(variance + epsilon)
// * scale + shift, with scale and shift per feature; epsilon is 1e-5 unless the call has another.
// float32 or float16, [batch][features].
#include <cmath>

#include "host/space/operators/activations.h"
#include "host/space/operators/fields.h"
#include "host/space/operators/operator.h"
#include "host/space/operators/row_reduction.h"
#include "host/space/operators/shapes.h"
#include "host/space/operators/tail.h"

namespace fettle::space {

namespace {

constexpr double kEpsilon = 1e-5;

Result<nlohmann::json> canonical(const nlohmann::json& json, const char* op) {
  Fields fields(json);
  fields.word("dtype", {"float32", "float16"}, "float32");
  fields.integer("batch", 1, 1 << 20, 1);
  fields.integer("features", 1, 1 << 20);
  if (op == std::string("layer_norm")) fields.number_beside("epsilon", 1e-30, 1, kEpsilon);
  fields.tail();
  auto checked = fields.finish(op);
  if (!checked) return checked;
  auto right = require_size(op, double((*checked)["batch"]) * double((*checked)["features"]));
  if (!right) return std::move(right).error();
  return checked;
}

Result<nlohmann::json> canonical_softmax(const nlohmann::json& json) {
  return canonical(json, "softmax");
}
Result<nlohmann::json> canonical_layer_norm(const nlohmann::json& json) {
  return canonical(json, "layer_norm");
}

// What rounding adds up to along a row, in units of 2^-24.
constexpr double kUnit = 0x1p-24;
double row_units(std::int64_t length) { return 16 + std::sqrt(double(length)); }

// name[n][k] = value(n, k)
Stage append_rows(ComputeDag& dag, const char* name, std::int64_t rows, std::int64_t length,
                  const std::function<ir::Expr(ir::Expr, ir::Expr)>& value) {
  const Axis n = make_axis("n", rows), k = make_axis("k", length);
  dag.stages.push_back(make_stage(name, {n, k}, {}, value(ir::var_ref(n.var), ir::var_ref(k.var))));
  return dag.stages.back();
}

Stage append_column(ComputeDag& dag, const char* name, std::int64_t rows,
                    const std::function<ir::Expr(ir::Expr)>& value) {
  const Axis n = make_axis("n", rows);
  dag.stages.push_back(make_stage(name, {n}, {}, value(ir::var_ref(n.var))));
  return dag.stages.back();
}

ComputeDag softmax_dag(const OperatorCall& w) {
  const std::int64_t rows = w.integer("batch"), length = w.integer("features");
  ComputeDag dag;
  const Stage input = make_operand(w.scalar(), "input", {{"n", rows}, {"k", length}},
                                   ir::Role::Input, kInputStream, 1);
  dag.stages.push_back(input);
  const Stage largest = append_row_reduction(
      dag, "largest", rows, length, Combiner::Max,
      [&](const ir::Expr& n, const ir::Expr& k) { return widened(at(input, {n, k})); });
  const Stage power =
      append_rows(dag, "power", rows, length, [&](const ir::Expr& n, const ir::Expr& k) {
        return exponential(widened(at(input, {n, k})) - of_row(largest, n));
      });
  const Stage sum =
      append_row_reduction(dag, "sum", rows, length, Combiner::Sum,
                           [&](const ir::Expr& n, const ir::Expr& k) { return at(power, {n, k}); });
  const Stage inverse = append_column(dag, "inverse", rows, [&](const ir::Expr& n) {
    return ir::binary(ir::BinaryOp::Div, ir::float_imm(1), of_row(sum, n));
  });
  append_rows(dag, "softmax", rows, length, [&](const ir::Expr& n, const ir::Expr& k) {
    return at(power, {n, k}) * of_row(inverse, n);
  });
  append_tail(dag, w);
  // e^x is right to about 5 units, and the sum of positive numbers is relatively as
  // right as its terms but for the roundings of its steps. An element's share of the
  // sum is at least e^-2 / length: a missing one shows in rows of up to 2^13.
  dag.tolerance = Tolerance{w.tail().empty() ? 0 : 4 * kUnit, row_units(length) * kUnit};
  return dag;
}

ComputeDag layer_norm_dag(const OperatorCall& w) {
  const std::int64_t rows = w.integer("batch"), length = w.integer("features");
  ComputeDag dag;
  const Stage input = make_operand(w.scalar(), "input", {{"n", rows}, {"k", length}},
                                   ir::Role::Input, kInputStream, 1);
  const Stage scale =
      make_operand(w.scalar(), "weight", {{"k", length}}, ir::Role::Constant, kWeightStream, 1);
  const Stage shift =
      make_operand(w.scalar(), "shift", {{"k", length}}, ir::Role::Constant, kShiftStream, 1);
  dag.stages = {input, scale, shift};
  const ir::Expr share = reciprocal(length);
  const ir::Expr epsilon = ir::float_imm(w.number("epsilon", kEpsilon));
  const Stage sum = append_row_reduction(
      dag, "sum", rows, length, Combiner::Sum,
      [&](const ir::Expr& n, const ir::Expr& k) { return widened(at(input, {n, k})); });
  const Stage mean =
      append_column(dag, "mean", rows, [&](const ir::Expr& n) { return of_row(sum, n) * share; });
  const Stage squares = append_row_reduction(
      dag, "squares", rows, length, Combiner::Sum, [&](const ir::Expr& n, const ir::Expr& k) {
        const ir::Expr off = widened(at(input, {n, k})) - of_row(mean, n);
        return off * off;
      });
  const Stage inverse = append_column(dag, "inverse", rows, [&](const ir::Expr& n) {
    return ir::binary(ir::BinaryOp::Div, ir::float_imm(1),
                      ir::unary(ir::UnaryOp::Sqrt, of_row(squares, n) * share + epsilon));
  });
  append_rows(dag, "layer_norm", rows, length, [&](const ir::Expr& n, const ir::Expr& k) {
    return (widened(at(input, {n, k})) - of_row(mean, n)) * of_row(inverse, n) *
               widened(at(scale, {k})) +
           widened(at(shift, {k}));
  });
  append_tail(dag, w);
  // Deviations of O(1) with a dozen roundings, over a sum of squares that is relatively
  // as right as its terms. A missing element moves the mean by 0.25 / length at least.
  dag.tolerance = Tolerance{row_units(length) * kUnit, row_units(length) * kUnit};
  return dag;
}

double elements(const OperatorCall& w) {
  return double(w.integer("batch")) * double(w.integer("features"));
}
// One each for the largest, the difference, e^x, the sum and the product.
double softmax_operations(const OperatorCall& w) { return 5 * elements(w); }
// Sum, difference, square and its sum; difference, two products and the shift.
double layer_norm_operations(const OperatorCall& w) { return 8 * elements(w); }

std::string title(const OperatorCall& w, const char* name) {
  std::string s = name;
  if (w.integer("batch") != 1) s += " n" + std::to_string(w.integer("batch"));
  return s + " " + std::to_string(w.integer("features"));
}
std::string softmax_title(const OperatorCall& w) { return title(w, "softmax"); }
std::string layer_norm_title(const OperatorCall& w) {
  const std::string plain = title(w, "layer_norm");
  return w.has("epsilon") ? plain + " e" + nlohmann::json(w.number("epsilon", 0)).dump() : plain;
}

}  // namespace

const Operator kSoftmax{"softmax",          canonical_softmax, softmax_dag,
                        softmax_operations, elements,          softmax_title};
const Operator kLayerNorm{"layer_norm", canonical_layer_norm, layer_norm_dag, layer_norm_operations,
                          elements,     layer_norm_title};

}  // namespace fettle::space
