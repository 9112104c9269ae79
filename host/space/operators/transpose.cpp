// transpose: the axes of a tensor in another order. float32, float16 or int8.
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
  fields.word("dtype", {"float32", "float16", "int8", "uint8", "int32", "int64"}, "float32");
  fields.list("shape", 1, 6, 1, 1 << 30);
  // Axis d of the output is axis permutation[d] of the input.
  fields.list("permutation", 1, 6, 0, 5);
  fields.tail();
  auto checked = fields.finish("transpose");
  if (!checked) return checked;
  const Shape shape = (*checked)["shape"];
  Shape order = (*checked)["permutation"];
  std::sort(order.begin(), order.end());
  bool each_once = order.size() == shape.size();
  for (std::size_t d = 0; each_once && d < order.size(); ++d) {
    each_once = order[d] == std::int64_t(d);
  }
  auto right = require(each_once, "transpose", "permutation does not name every axis once");
  if (right) right = require_size("transpose", elements_of(shape));
  if (!right) return std::move(right).error();
  return checked;
}

ComputeDag dag(const OperatorCall& w) {
  const Shape shape = w.list("shape"), order = w.list("permutation");
  ComputeDag dag;
  dag.stages.push_back(
      make_operand(w.scalar(), "input", named_axes(shape), ir::Role::Input, kInputStream, 1));
  std::vector<Axis> axes;
  std::vector<ir::Expr> from(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto axis = std::size_t(order[d]);
    axes.push_back(make_axis("d" + std::to_string(d), shape[axis]));
    from[axis] = ir::var_ref(axes[d].var);
  }
  dag.stages.push_back(make_stage("transpose", axes, {}, at(dag.stages[0], from)));
  append_tail(dag, w);
  if (w.tail().empty()) dag.tolerance = Tolerance{};  // copies are exact
  return dag;
}

double operations(const OperatorCall&) { return 0; }
double output_elements(const OperatorCall& w) { return elements_of(w.list("shape")); }

std::string title(const OperatorCall& w) {
  return "transpose " + to_text(w.list("shape")) + " by " + to_text(w.list("permutation"));
}

}  // namespace

const Operator kTranspose{"transpose", canonical, dag, operations, output_elements, title};

}  // namespace fettle::space
