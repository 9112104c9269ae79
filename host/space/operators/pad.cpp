// pad: a constant around a tensor. float32, float16 or int8.
#include "host/space/operators/fields.h"
#include "host/space/operators/operator.h"
#include "host/space/operators/shapes.h"
#include "host/space/operators/stages.h"
#include "host/space/operators/tail.h"

namespace fettle::space {

namespace {

Shape output_shape(const Shape& shape, const Shape& before, const Shape& after) {
  Shape out = shape;
  for (std::size_t d = 0; d < out.size(); ++d) out[d] += before[d] + after[d];
  return out;
}

Result<nlohmann::json> canonical(const nlohmann::json& json) {
  Fields fields(json);
  fields.word("dtype", {"float32", "float16", "int8"}, "float32");
  fields.list("shape", 1, 6, 1, 1 << 30);
  fields.list("before", 1, 6, 0, 1 << 20);
  fields.list("after", 1, 6, 0, 1 << 20);
  fields.integer("value", -(1 << 24), 1 << 24, 0);
  fields.tail();
  auto checked = fields.finish("pad");
  if (!checked) return checked;
  const Shape shape = (*checked)["shape"], before = (*checked)["before"],
              after = (*checked)["after"];
  auto right = require(before.size() == shape.size() && after.size() == shape.size(), "pad",
                       "shape, before and after differ in length");
  if (right) right = require_size("pad", elements_of(output_shape(shape, before, after)));
  if (right) {
    const std::int64_t value = (*checked)["value"];
    right = require((*checked)["dtype"] != "int8" || (value >= -128 && value <= 127), "pad",
                    "a value that int8 does not hold");
  }
  if (!right) return std::move(right).error();
  return checked;
}

ComputeDag dag(const OperatorCall& w) {
  ComputeDag dag;
  dag.stages.push_back(make_operand(w.scalar(), "input", named_axes(w.list("shape")),
                                    ir::Role::Input, kInputStream, 1));
  const ir::DataType type = dag.stages[0].buffer->type;
  const std::int64_t value = w.integer("value");
  const Stage copy =
      make_pad(dag.stages[0], w.list("before"), w.list("after"),
               type.is_float() ? ir::float_imm(double(value), type) : ir::int_imm(value, type));
  // Not named pad: that is a copy which an operator makes for itself.
  dag.stages.push_back(make_stage("bordered", copy.axes, {}, copy.body));
  append_tail(dag, w);
  if (w.tail().empty()) dag.tolerance = Tolerance{};  // copies are exact
  return dag;
}

double operations(const OperatorCall&) { return 0; }

double output_elements(const OperatorCall& w) {
  return elements_of(output_shape(w.list("shape"), w.list("before"), w.list("after")));
}

std::string title(const OperatorCall& w) {
  return "pad " + to_text(w.list("shape")) + " before " + to_text(w.list("before")) + " after " +
         to_text(w.list("after"));
}

}  // namespace

const Operator kPad{"pad", canonical, dag, operations, output_elements, title};

}  // namespace fettle::space
