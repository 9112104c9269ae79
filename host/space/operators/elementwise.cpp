// elementwise: a function of two tensors; the second one broadcasts to the first as
// numpy's do. float32, float16, or int8 computed in int32, which has no division.
#include <algorithm>

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
  fields.word("function", {"add", "subtract", "multiply", "divide", "maximum", "minimum"});
  fields.list("shape", 1, 6, 1, 1 << 30);
  fields.list("shape_b", 0, 6, 1, 1 << 30, Shape{});
  fields.tail();
  auto checked = fields.finish("elementwise");
  if (!checked) return checked;
  const Shape a = (*checked)["shape"], b = (*checked)["shape_b"];
  // The axes of the second tensor are the last ones of the first.
  bool fits = b.size() <= a.size();
  for (std::size_t d = 0; fits && d < b.size(); ++d) {
    fits = b[d] == 1 || b[d] == a[a.size() - b.size() + d];
  }
  auto right = require(fits, "elementwise",
                       "shape_b " + to_text(b) + " does not broadcast to shape " + to_text(a));
  if (right) right = require_size("elementwise", elements_of(a));
  if (right) {
    right = require((*checked)["dtype"] != "int8" || (*checked)["function"] != "divide",
                    "elementwise", "no division of int8");
  }
  if (!right) return std::move(right).error();
  return checked;
}

// Neighbouring axes that broadcast alike become one, so that loops are long; not the
// last one where `last_alone`.
void collapse(Shape& a, Shape& b, bool last_alone) {
  b.insert(b.begin(), a.size() - b.size(), 1);
  Shape to_a, to_b;
  bool repeats_last = false;
  for (std::size_t d = 0; d < a.size(); ++d) {
    const bool alone = last_alone && d + 1 == a.size();
    if (a[d] == 1 && !alone) continue;
    const bool repeats = b[d] == 1;
    if (!to_a.empty() && repeats == repeats_last && !alone) {
      to_a.back() *= a[d], to_b.back() *= b[d];
    } else {
      to_a.push_back(a[d]), to_b.push_back(b[d]);
    }
    repeats_last = repeats;
  }
  if (to_a.empty()) to_a = to_b = {1};
  a = to_a, b = to_b;
}

ir::BinaryOp function_of(const std::string& name) {
  static const std::pair<const char*, ir::BinaryOp> kFunctions[] = {
      {"add", ir::BinaryOp::Add},      {"subtract", ir::BinaryOp::Sub},
      {"multiply", ir::BinaryOp::Mul}, {"divide", ir::BinaryOp::Div},
      {"maximum", ir::BinaryOp::Max},  {"minimum", ir::BinaryOp::Min}};
  return std::find_if(std::begin(kFunctions), std::end(kFunctions),
                      [&](const auto& f) { return name == f.first; })
      ->second;
}

ComputeDag dag(const OperatorCall& w) {
  Shape a = w.list("shape"), b = w.list("shape_b");
  collapse(a, b, has_channel_constants(w));
  ComputeDag dag;
  dag.stages.push_back(
      make_operand(w.scalar(), "input", named_axes(a), ir::Role::Input, kInputStream, 1));
  dag.stages.push_back(
      make_operand(w.scalar(), "input_b", named_axes(b), ir::Role::Input, kSecondStream, 1));
  std::vector<Axis> axes;
  std::vector<ir::Expr> at_a, at_b;
  for (std::size_t d = 0; d < a.size(); ++d) {
    axes.push_back(make_axis("d" + std::to_string(d), a[d]));
    at_a.push_back(ir::var_ref(axes[d].var));
    at_b.push_back(b[d] == 1 ? ir::int_imm(0) : at_a[d]);
  }
  const std::string function = w.word("function");
  dag.stages.push_back(
      make_stage(function, axes, {},
                 ir::binary(function_of(function), widened(at(dag.stages[0], at_a)),
                            widened(at(dag.stages[1], at_b)))));
  append_tail(dag, w);
  return dag;
}

double elements(const OperatorCall& w) { return elements_of(w.list("shape")); }

std::string title(const OperatorCall& w) {
  const Shape b = w.list("shape_b");
  return "elementwise " + w.word("function") + " " + to_text(w.list("shape")) + " by " +
         (b.empty() ? "1" : to_text(b));
}

}  // namespace

const Operator kElementwise{"elementwise", canonical, dag, elements, elements, title};

}  // namespace fettle::space
