// reduce: sum, mean, max or min over some axes of a tensor; float32, float16, or int8 with
// int32 sums and means rounded to the nearest int8. The output has the axes that remain, or
// one element.
#include <algorithm>
#include <cmath>

#include "host/space/operators/fields.h"
#include "host/space/operators/operator.h"
#include "host/space/operators/row_reduction.h"
#include "host/space/operators/shapes.h"
#include "host/space/operators/tail.h"

namespace fettle::space {

namespace {

Result<nlohmann::json> canonical(const nlohmann::json& json) {
  Fields fields(json);
  fields.word("dtype", {"float32", "float16", "int8"}, "float32");
  fields.word("function", {"sum", "mean", "max", "min"});
  fields.list("shape", 1, 6, 1, 1 << 30);
  fields.list("axes", 1, 6, 0, 5);
  fields.tail();
  auto checked = fields.finish("reduce");
  if (!checked) return checked;
  const Shape shape = (*checked)["shape"], axes = (*checked)["axes"];
  bool ascending = axes.back() < std::int64_t(shape.size());
  for (std::size_t i = 1; i < axes.size(); ++i) ascending &= axes[i - 1] < axes[i];
  auto right = require(ascending, "reduce",
                       "axes must be ascending axes of the shape: " + (*checked)["axes"].dump());
  if (right) right = require_size("reduce", elements_of(shape));
  if (right) {
    double length = 1;
    for (const std::int64_t axis : axes) length *= double(shape[std::size_t(axis)]);
    right = require_sum("reduce", *checked, length);
    if (right && (*checked)["function"] == "mean") right = require_mean("reduce", *checked, length);
  }
  if (!right) return std::move(right).error();
  return checked;
}

bool reduced(const OperatorCall& w, std::size_t axis) {
  const Shape axes = w.list("axes");
  return std::find(axes.begin(), axes.end(), std::int64_t(axis)) != axes.end();
}

// Elements of the output and of each reduction.
std::pair<std::int64_t, std::int64_t> sizes(const OperatorCall& w) {
  const Shape shape = w.list("shape");
  std::pair<std::int64_t, std::int64_t> out{1, 1};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    (reduced(w, d) ? out.second : out.first) *= shape[d];
  }
  return out;
}

// The axes, neighbours of a kind fused: extents and whether they are reduced. The last
// axis that is kept stays alone where a tail has constants along it.
std::vector<std::pair<std::int64_t, bool>> fused(const OperatorCall& w) {
  const Shape shape = w.list("shape");
  std::size_t channel = shape.size();
  for (std::size_t d = 0; d < shape.size() && has_channel_constants(w); ++d) {
    if (!reduced(w, d)) channel = d;
  }
  std::vector<std::pair<std::int64_t, bool>> out;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!out.empty() && out.back().second == reduced(w, d) && d != channel) {
      out.back().first *= shape[d];
    } else {
      out.emplace_back(shape[d], reduced(w, d));
    }
  }
  return out;
}

// Sums and means are of O(1), as a convolution's are.
double scale_of(const std::string& function, double length) {
  if (function == "sum") return 1 / std::sqrt(length);
  return function == "mean" ? std::sqrt(length) : 1;
}

// Of sums along rows, which are made of many partial sums whatever the device: rounding errors
// grow with the root of those' lengths.
Tolerance tolerance_of_rows(double length) {
  constexpr double kUnit = 0x1p-24;
  const double longest = std::min(length, std::max(8.0, std::ceil(length / 16)));
  return {4 * kUnit * std::sqrt(longest), 4 * kUnit};
}

// mean[axes] = last stage[axes] / length
void append_mean(ComputeDag& dag, std::int64_t length) {
  const Stage sum = dag.stages.back();
  std::vector<Axis> axes;
  std::vector<ir::Expr> place;
  for (const Axis& axis : sum.axes) {
    axes.push_back(make_axis(axis.name, axis.extent));
    place.push_back(ir::var_ref(axes.back().var));
  }
  const ir::Expr total = at(sum, place);
  dag.stages.push_back(make_stage(
      "mean", axes, {},
      total->type.is_float() ? total * reciprocal(length) : int8_mean(total, ir::int_imm(length))));
}

ComputeDag dag(const OperatorCall& w) {
  const std::string function = w.word("function");
  const Combiner combiner = function == "max"   ? Combiner::Max
                            : function == "min" ? Combiner::Min
                                                : Combiner::Sum;
  const auto [outputs, length] = sizes(w);
  const std::string name = function == "mean" ? "sum" : function;
  auto dims = fused(w);
  if (dims.size() == 1) dims.insert(dims.begin(), {1, false});
  ComputeDag dag;
  std::vector<std::pair<std::string, std::int64_t>> named;
  for (const auto& [extent, reduced] : dims) {
    named.emplace_back("d" + std::to_string(named.size()), extent);
  }
  const Stage input = make_operand(w.scalar(), "input", named, ir::Role::Input, kInputStream,
                                   scale_of(function, double(length)));
  // The largest and least of int8 need no more bits.
  const bool narrow = w.scalar() == ir::Scalar::Int8 && combiner != Combiner::Sum;
  const auto element = [&](const std::vector<ir::Expr>& index) {
    return narrow ? at(input, index) : widened(at(input, index));
  };
  dag.stages.push_back(input);
  std::vector<Axis> axes, reduce;
  std::vector<ir::Expr> index;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const Axis axis = make_axis(named[d].first, dims[d].first);
    (dims[d].second ? reduce : axes).push_back(axis);
    index.push_back(ir::var_ref(axis.var));
  }
  dag.stages.push_back(make_stage(name, axes, reduce, element(index), combiner));
  if (combiner == Combiner::Sum && dims.size() == 2 && dims.back().second) {
    dag.tolerance = tolerance_of_rows(double(length));
  }
  if (function == "mean") append_mean(dag, length);
  append_tail(dag, w);
  return dag;
}

double output_elements(const OperatorCall& w) { return double(sizes(w).first); }
double operations(const OperatorCall& w) {
  return double(sizes(w).first) * double(sizes(w).second);
}

std::string title(const OperatorCall& w) {
  std::string s = "reduce " + w.word("function") + " " + to_text(w.list("shape")) + " over";
  for (const std::int64_t axis : w.list("axes")) s += " " + std::to_string(axis);
  return s;
}

}  // namespace

const Operator kReduce{"reduce", canonical, dag, operations, output_elements, title};

}  // namespace fettle::space
