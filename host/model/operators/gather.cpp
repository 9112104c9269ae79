// Elements at places that a tensor of whole numbers names, known when the network runs or before.
// Places from the end are negative; what lies outside counts as the nearest one inside.
#include <algorithm>

#include "host/model/operators/call.h"

namespace fettle::model {
namespace {

using ir::BinaryOp;

// A place of an axis of `extent`, which the input names at these indices.
ir::Expr place(const NodeCall& call, std::size_t input, const std::vector<ir::Expr>& indices,
               std::int64_t extent) {
  const ir::Expr named = widened(element(call, input, indices));
  const auto number = [&](std::int64_t value) { return ir::int_imm(value, named->type); };
  const ir::Expr from_end = ir::binary(BinaryOp::Lt, named, number(0));
  const ir::Expr index = ir::select(from_end, named + number(extent), named);
  return ir::cast(ir::kInt32, ir::binary(BinaryOp::Min, ir::binary(BinaryOp::Max, index, number(0)),
                                         number(extent - 1)));
}

Result<void> check_places(const NodeCall& call) {
  const ir::DataType type{call.scalar(1)};
  if (!type.is_int()) return invalid("its indices are " + ir::to_string(type));
  return {};
}

std::ptrdiff_t offset(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }

// Whole slices along an axis.
Result<Written> take(const NodeCall& call) {
  if (auto right = check_places(call); !right) return std::move(right).error();
  const Shape &shape = call.shape(0), &places = call.shape(1);
  auto axis = axis_number(call.integer("axis"), shape.size());
  if (!axis) return std::move(axis).error();
  Shape to(shape.begin(), shape.begin() + offset(*axis));
  to.insert(to.end(), places.begin(), places.end());
  to.insert(to.end(), shape.begin() + offset(*axis) + 1, shape.end());
  const auto axes = axes_of(to);
  const auto indices = indices_of(axes);
  const auto first = indices.begin() + offset(*axis), behind = first + offset(places.size());
  std::vector<ir::Expr> from(indices.begin(), first);
  from.push_back(place(call, 1, {first, behind}, shape[*axis]));
  from.insert(from.end(), behind, indices.begin() + offset(to.size()));
  call.names_places(1, shape[*axis]);
  Written out = written(call.add("taken", axes, {}, element(call, 0, from)));
  out.shape = to;
  return out;
}

// An element for each place, which stands where it goes to but for the axis.
Result<Written> take_elements(const NodeCall& call) {
  if (auto right = check_places(call); !right) return std::move(right).error();
  const Shape &shape = call.shape(0), &to = call.shape(1);
  auto axis = axis_number(call.integer("axis"), shape.size());
  if (!axis) return std::move(axis).error();
  if (to.size() != shape.size()) return invalid("its indices have another rank");
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != *axis && to[d] > shape[d]) return invalid("its indices are more than its elements");
  }
  const auto axes = axes_of(to);
  const auto indices = indices_of(axes);
  auto from = indices;
  from[*axis] = place(call, 1, indices, shape[*axis]);
  call.names_places(1, shape[*axis]);
  return written(call.add("taken", axes, {}, element(call, 0, from)));
}

// The last axis of the indices is a place in as many axes of the data, behind those of a batch.
Result<Written> take_at(const NodeCall& call) {
  if (auto right = check_places(call); !right) return std::move(right).error();
  const Shape &shape = call.shape(0), &places = call.shape(1);
  const std::int64_t given = call.integer("batch_dims");
  if (given < 0 || given >= static_cast<std::int64_t>(places.size())) {
    return invalid("has no such batch");
  }
  const auto batch = static_cast<std::size_t>(given);
  if (places.back() < 1 || batch + static_cast<std::size_t>(places.back()) > shape.size() ||
      !std::equal(places.begin(), places.begin() + offset(batch), shape.begin())) {
    return invalid("its indices do not fit its input");
  }
  const auto named = static_cast<std::size_t>(places.back());
  Shape to(places.begin(), places.end() - 1);
  to.insert(to.end(), shape.begin() + offset(batch + named), shape.end());
  const auto axes = axes_of(to);
  const auto indices = indices_of(axes);
  const auto behind = indices.begin() + offset(places.size() - 1);
  std::vector<ir::Expr> from(indices.begin(), indices.begin() + offset(batch));
  // One range for all of them: some are clamped.
  call.names_places(
      1, *std::max_element(shape.begin() + offset(batch), shape.begin() + offset(batch + named)));
  for (std::size_t i = 0; i < named; ++i) {
    std::vector<ir::Expr> at(indices.begin(), behind);
    at.push_back(ir::int_imm(static_cast<std::int64_t>(i)));
    from.push_back(place(call, 1, at, shape[batch + i]));
  }
  from.insert(from.end(), behind, indices.begin() + offset(to.size()));
  Written out = written(call.add("taken", axes, {}, element(call, 0, from)));
  out.shape = to;
  return out;
}

// Of the last two axes what lies on a diagonal, and above it or below; 0 elsewhere.
Result<Written> triangle(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  if (shape.size() < 2) return invalid("its input is no matrix");
  const auto axes = axes_of(shape);
  const auto indices = indices_of(axes);
  const ir::Expr row = indices[shape.size() - 2] + ir::int_imm(call.integer("diagonal"));
  const ir::Expr column = indices.back();
  const ir::Expr kept = call.integer("upper") != 0 ? ir::binary(BinaryOp::Le, row, column)
                                                   : ir::binary(BinaryOp::Le, column, row);
  const ir::Expr value = element(call, 0, indices);
  const ir::Expr nothing = value->type.is_bool() ? ir::bool_imm(false) : ir::zero_of(value->type);
  return written(call.add("triangle", axes, {}, ir::select(kept, value, nothing)));
}

// Sums of all that stands before an element, and of itself.
Result<Written> running_sum(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  auto axis = axis_number(call.integer("axis"), shape.size());
  if (!axis) return std::move(axis).error();
  const auto axes = axes_of(shape);
  auto from = indices_of(axes);
  call.sums_up(0, shape[*axis]);
  const space::Axis before = space::make_axis("k", shape[*axis]);
  const ir::Expr at = from[*axis], other = ir::var_ref(before.var);
  const bool back = call.integer("reverse") != 0, without = call.integer("exclusive") != 0;
  const ir::Expr counts =
      ir::binary(without ? BinaryOp::Lt : BinaryOp::Le, back ? at : other, back ? other : at);
  from[*axis] = other;
  const ir::Expr value = widened(element(call, 0, from));
  const space::Stage sum =
      call.add("running", axes, {before}, ir::select(counts, value, ir::zero_of(value->type)));
  if (sum.buffer->type.scalar == call.scalar(0)) return written(sum);
  const auto out_axes = axes_of(shape);
  const ir::Expr narrow = narrowed(space::at(sum, indices_of(out_axes)), call.scalar(0));
  return written(call.add("value", out_axes, {}, narrow));
}

constexpr Operator kGather[] = {
    {"Take", 2, 2, take, nullptr},          {"GatherElements", 2, 2, take_elements, nullptr},
    {"GatherND", 2, 2, take_at, nullptr},   {"Trilu", 1, 1, triangle, nullptr},
    {"CumSum", 1, 1, running_sum, nullptr},
};

}  // namespace

std::span<const Operator> gather_operators() { return kGather; }

}  // namespace fettle::model
