// Reductions along axes, and what normalises by them.
#include <cmath>

#include "host/model/operators/call.h"

namespace fettle::model {
namespace {

using ir::BinaryOp;
using space::Combiner;

// The axes that stay and those that are reduced, with the input's element at them.
struct Split {
  std::vector<space::Axis> kept, reduced;
  std::vector<ir::Expr> indices;  // of the input, in its order
  std::int64_t count = 1;         // elements of each reduction
};

Split split(const Shape& shape, const std::vector<std::size_t>& along) {
  Split out;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool reduced = std::find(along.begin(), along.end(), d) != along.end();
    const space::Axis axis = space::make_axis((reduced ? "r" : "d") + std::to_string(d), shape[d]);
    (reduced ? out.reduced : out.kept).push_back(axis);
    out.indices.push_back(ir::var_ref(axis.var));
    if (reduced) out.count *= shape[d];
  }
  if (out.kept.empty()) out.kept.push_back(space::make_axis("d0", 1));
  return out;
}

enum class After { Nothing, Mean, Root };

template <Combiner combiner, After after = After::Nothing, bool squared = false>
Result<Written> reduce(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  auto along = axis_numbers(call.list("axes"), shape.size());
  if (!along) return std::move(along).error();
  if (along->empty() && !call.integer("noop_with_empty_axes")) {
    for (std::size_t d = 0; d < shape.size(); ++d) along->push_back(d);
  }
  Split s = split(shape, *along);
  ir::Expr value = widened(element(call, 0, s.indices));
  if (squared) value = value * value;
  if (combiner == Combiner::Sum && after != After::Mean) call.sums_up(0, s.count);
  space::Stage last = s.reduced.empty() ? call.add("value", s.kept, {}, value)
                                        : call.add("reduced", s.kept, s.reduced, value, combiner);
  ir::Expr result = space::at(last, indices_of(last.axes));
  if (after == After::Mean) result = result * ir::float_imm(1.0 / static_cast<double>(s.count));
  if (after == After::Root) result = ir::unary(ir::UnaryOp::Sqrt, result);
  // Axes that are kept with extent 1 are a view of what is computed.
  Written out{call.add("value", last.axes, {}, narrowed(result, call.scalar(0))), {}};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool reduced = std::find(along->begin(), along->end(), d) != along->end();
    if (!reduced) out.shape.push_back(shape[d]);
    if (reduced && call.integer("keepdims")) out.shape.push_back(1);
  }
  return out;
}

// Along one axis.
Result<Written> softmax(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  auto axis = axis_number(call.integer("axis"), shape.size());
  if (!axis) return std::move(axis).error();
  const auto reduced_to = [&](const char* name, const space::Stage* from, Combiner combiner) {
    Split s = split(shape, {*axis});
    const ir::Expr value =
        from ? space::at(*from, s.indices) : widened(element(call, 0, s.indices));
    return call.add(name, s.kept, s.reduced, value, combiner);
  };
  const auto axes = axes_of(shape);
  const auto indices = indices_of(axes);
  const auto of_row = [&](const space::Stage& row) {
    auto at = indices;
    at.erase(at.begin() + static_cast<std::ptrdiff_t>(*axis));
    if (at.empty()) at.push_back(ir::int_imm(0));
    return space::at(row, at);
  };
  const space::Stage largest = reduced_to("largest", nullptr, Combiner::Max);
  const space::Stage power = call.add(
      "power", axes, {}, space::exponential(widened(element(call, 0, indices)) - of_row(largest)));
  const space::Stage sum = reduced_to("sum", &power, Combiner::Sum);
  const auto out_axes = axes_of(shape);
  auto at = indices_of(out_axes);
  auto row = at;
  row.erase(row.begin() + static_cast<std::ptrdiff_t>(*axis));
  if (row.empty()) row.push_back(ir::int_imm(0));
  const ir::Expr value = ir::binary(BinaryOp::Div, space::at(power, at), space::at(sum, row));
  return written(call.add("softmax", out_axes, {}, narrowed(value, call.scalar(0))));
}

// (x - mean) / sqrt(variance + epsilon) over the axes `along`; the indices of what scales and
// shifts it are among those of x.
Result<Written> normalized(const NodeCall& call, const std::vector<std::size_t>& along,
                           const std::vector<std::size_t>& scaled) {
  const Shape& shape = call.shape(0);
  const auto rows_of = [&](const std::vector<ir::Expr>& indices) {
    std::vector<ir::Expr> row;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (std::find(along.begin(), along.end(), d) == along.end()) row.push_back(indices[d]);
    }
    if (row.empty()) row.push_back(ir::int_imm(0));
    return row;
  };
  Split s = split(shape, along);
  const ir::Expr share = ir::float_imm(1.0 / static_cast<double>(s.count));
  const space::Stage sum = call.add("sum", s.kept, s.reduced, widened(element(call, 0, s.indices)));
  Split t = split(shape, along);
  const ir::Expr off =
      widened(element(call, 0, t.indices)) - space::at(sum, rows_of(t.indices)) * share;
  const space::Stage squares = call.add("squares", t.kept, t.reduced, off * off);
  const auto axes = axes_of(shape);
  const auto indices = indices_of(axes);
  const auto row = rows_of(indices);
  const ir::Expr spread = ir::unary(
      ir::UnaryOp::Sqrt, space::at(squares, row) * share + ir::float_imm(call.number("epsilon")));
  ir::Expr value = ir::binary(
      BinaryOp::Div, widened(element(call, 0, indices)) - space::at(sum, row) * share, spread);
  std::vector<ir::Expr> at;
  for (const std::size_t d : scaled) at.push_back(indices[d]);
  for (std::size_t i = 1; i <= 2; ++i) {
    if (!call.has(i)) continue;
    if (call.shape(i).size() != at.size()) return invalid("its scale has another rank");
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (call.shape(i)[d] != shape[scaled[d]]) return invalid("its scale has another extent");
    }
    const ir::Expr factor = widened(element(call, i, at));
    value = i == 1 ? value * factor : value + factor;
  }
  return written(call.add("normalized", axes, {}, narrowed(value, call.scalar(0))));
}

Result<Written> layer_normalization(const NodeCall& call) {
  auto axis = axis_number(call.integer("axis"), call.shape(0).size());
  if (!axis) return std::move(axis).error();
  std::vector<std::size_t> along;
  for (std::size_t d = *axis; d < call.shape(0).size(); ++d) along.push_back(d);
  return normalized(call, along, along);
}

Result<Written> instance_normalization(const NodeCall& call) {
  if (call.shape(0).size() < 3) return invalid("its input has fewer than three axes");
  std::vector<std::size_t> along;
  for (std::size_t d = 2; d < call.shape(0).size(); ++d) along.push_back(d);
  return normalized(call, along, {1});
}

// Inputs: x, scale, shift, mean, variance, each of the channels.
Result<Written> batch_normalization(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  if (shape.size() < 2) return invalid("its input has fewer than two axes");
  for (std::size_t i = 1; i < 5; ++i) {
    if (call.shape(i) != Shape{shape[1]}) return invalid("a factor is not one per channel");
  }
  const auto axes = axes_of(shape);
  const auto indices = indices_of(axes);
  const auto of_channel = [&](std::size_t i) { return widened(element(call, i, {indices[1]})); };
  const ir::Expr spread =
      ir::unary(ir::UnaryOp::Sqrt, of_channel(4) + ir::float_imm(call.number("epsilon")));
  const ir::Expr value =
      ir::binary(BinaryOp::Div, widened(element(call, 0, indices)) - of_channel(3), spread) *
          of_channel(1) +
      of_channel(2);
  return written(call.add("normalized", axes, {}, narrowed(value, call.scalar(0))));
}

// x / (bias + alpha / size * (sum of squares of the `size` channels around))^beta, for betas that
// need no logarithm.
Result<Written> local_response_normalization(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  const std::int64_t size = call.integer("size");
  const double beta = call.number("beta");
  if (shape.size() < 2 || size < 1 || size > 2 * shape[1] + 1) {
    return invalid("its channels are none, or more than there are");
  }
  if (beta != 0.5 && beta != 0.75 && beta != 1) {
    return unsupported("the exponent " + std::to_string(beta));
  }
  const auto kept = axes_of(shape);
  const space::Axis around = space::make_axis("k", size);
  auto at = indices_of(kept);
  const ir::Expr channel = at[1] + ir::var_ref(around.var) - ir::int_imm((size - 1) / 2);
  at[1] = channel;
  const ir::Expr inside =
      ir::binary(BinaryOp::And, ir::binary(BinaryOp::Le, ir::int_imm(0), channel),
                 ir::binary(BinaryOp::Lt, channel, ir::int_imm(shape[1])));
  const ir::Expr x = widened(element_where(call, 0, at, inside));
  const space::Stage squares = call.add("squares", kept, {around}, x * x);
  const auto axes = axes_of(shape);
  const auto indices = indices_of(axes);
  const ir::Expr base = space::at(squares, indices) *
                            ir::float_imm(call.number("alpha") / static_cast<double>(size)) +
                        ir::float_imm(call.number("bias"));
  ir::Expr power = base;
  if (beta < 1) power = ir::unary(ir::UnaryOp::Sqrt, base);
  if (beta == 0.75) power = power * ir::unary(ir::UnaryOp::Sqrt, power);
  const ir::Expr value = ir::binary(BinaryOp::Div, widened(element(call, 0, indices)), power);
  return written(call.add("normalized", axes, {}, narrowed(value, call.scalar(0))));
}

constexpr Operator kReduction[] = {
    {"LRN", 1, 1, local_response_normalization, nullptr, Takes::Floats},
    {"ReduceSum", 1, 1, reduce<Combiner::Sum>, nullptr},
    {"ReduceMean", 1, 1, reduce<Combiner::Sum, After::Mean>, nullptr, Takes::Floats},
    {"ReduceMax", 1, 1, reduce<Combiner::Max>, nullptr},
    {"ReduceMin", 1, 1, reduce<Combiner::Min>, nullptr},
    {"ReduceSumSquare", 1, 1, reduce<Combiner::Sum, After::Nothing, true>, nullptr},
    {"ReduceL2", 1, 1, reduce<Combiner::Sum, After::Root, true>, nullptr, Takes::AnyFloat},
    {"Softmax", 1, 1, softmax, nullptr, Takes::Floats},
    {"LayerNormalization", 2, 3, layer_normalization, nullptr, Takes::Floats},
    {"InstanceNormalization", 3, 3, instance_normalization, nullptr, Takes::Floats},
    {"BatchNormalization", 5, 5, batch_normalization, nullptr, Takes::Floats},
};

}  // namespace

std::span<const Operator> reduction_operators() { return kReduction; }

}  // namespace fettle::model
