// Where the largest and smallest elements of an axis are. One reduction each: schedules have room
// for no more but along rows.
#include <algorithm>

#include "host/model/operators/call.h"

namespace fettle::model {
namespace {

using ir::BinaryOp;
using space::Combiner;

// Elements of an axis are compared each with each.
constexpr std::int64_t kMostRanked = 16384;

// A tensor's axes without one, and that one by itself; the indices are the tensor's, in its order.
struct Apart {
  std::vector<space::Axis> kept;
  space::Axis along;
  std::vector<ir::Expr> indices;
};

Apart apart(const Shape& shape, std::size_t axis, const char* name) {
  Apart out{{}, space::make_axis(name, shape[axis]), {}};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d == axis) {
      out.indices.push_back(ir::var_ref(out.along.var));
      continue;
    }
    out.kept.push_back(space::make_axis("d" + std::to_string(d), shape[d]));
    out.indices.push_back(ir::var_ref(out.kept.back().var));
  }
  if (out.kept.empty()) out.kept.push_back(space::make_axis("d0", 1));
  return out;
}

// Of two of one type. What is no number stands beyond all numbers, and beside its like.
struct Order {
  ir::Expr below, same;
};
Order order_of(const ir::Expr& x, const ir::Expr& y) {
  const ir::Expr below = ir::binary(BinaryOp::Lt, x, y), same = ir::binary(BinaryOp::Eq, x, y);
  if (!x->type.is_float()) return {below, same};
  const auto both = [](const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(BinaryOp::And, a, b);
  };
  const auto none = [](const ir::Expr& a) { return ir::binary(BinaryOp::Ne, a, a); };
  const auto some = [](const ir::Expr& a) { return ir::binary(BinaryOp::Eq, a, a); };
  return {ir::binary(BinaryOp::Or, below, both(some(x), none(y))),
          ir::binary(BinaryOp::Or, same, both(none(x), none(y)))};
}

ir::Expr int64_within(const ir::Expr& place, std::int64_t extent) {
  return ir::cast(ir::kInt64, space::clip(place, 0, static_cast<double>(extent - 1)));
}

// The first place in the first input of what the second one has as its extreme along an axis, or
// the last one.
Result<Written> extreme_place(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  auto axis = axis_number(call.integer("axis"), shape.size());
  if (!axis) return std::move(axis).error();
  Shape kept = shape;
  kept[*axis] = 1;
  if (call.shape(1) != kept) return invalid("its extremes do not fit its input");
  const bool smallest = call.integer("smallest") != 0,
             last = call.integer("select_last_index") != 0;
  const std::int64_t extent = shape[*axis];
  const Apart s = apart(shape, *axis, "r");
  auto of_extreme = s.indices;
  of_extreme[*axis] = ir::int_imm(0);
  const ir::Expr x = widened(element(call, 0, s.indices)),
                 bound = widened(element(call, 1, of_extreme));
  // The extreme of numbers and of what is none is none.
  const ir::Expr numbers =
      smallest ? ir::binary(BinaryOp::Le, x, bound) : ir::binary(BinaryOp::Le, bound, x);
  const ir::Expr reached = x->type.is_float()
                               ? ir::binary(BinaryOp::Or, numbers, ir::binary(BinaryOp::Ne, x, x))
                               : numbers;
  const ir::Expr nowhere = ir::int_imm(last ? -1 : extent);
  const space::Stage place =
      call.add("place", s.kept, {s.along}, ir::select(reached, ir::var_ref(s.along.var), nowhere),
               last ? Combiner::Max : Combiner::Min);
  const ir::Expr value = int64_within(space::at(place, indices_of(place.axes)), extent);
  Written out{call.add("value", place.axes, {}, value), kept};
  if (call.integer("keepdims") == 0)
    out.shape.erase(out.shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  return out;
}

// How many elements of an axis stand before each: larger ones, or smaller ones, and of equal ones
// those that come first. What is no number is larger than all.
Result<Written> ranks(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  auto axis = axis_number(call.integer("axis"), shape.size());
  if (!axis) return std::move(axis).error();
  const std::int64_t extent = shape[*axis];
  if (extent > kMostRanked) {
    return unsupported("an axis of more than " + std::to_string(kMostRanked) + " elements");
  }
  const auto axes = axes_of(shape);
  const space::Axis other = space::make_axis("r", extent);
  auto at = indices_of(axes);
  const ir::Expr own = at[*axis], x = widened(element(call, 0, at));
  at[*axis] = ir::var_ref(other.var);
  const ir::Expr y = widened(element(call, 0, at));
  const Order order = order_of(x, y);
  const ir::Expr beyond = call.integer("largest") != 0 ? order.below : order_of(y, x).below;
  const ir::Expr earlier =
      ir::binary(BinaryOp::And, order.same, ir::binary(BinaryOp::Lt, ir::var_ref(other.var), own));
  return written(call.add(
      "rank", axes, {other},
      ir::select(ir::binary(BinaryOp::Or, beyond, earlier), ir::int_imm(1), ir::int_imm(0))));
}

// Of the k first ranks.
Result<Written> places_of_ranks(const NodeCall& call) {
  if (call.scalar(0) != ir::Scalar::Int32) return invalid("its ranks are not int32");
  const Shape& shape = call.shape(0);
  auto axis = axis_number(call.integer("axis"), shape.size());
  if (!axis) return std::move(axis).error();
  const std::int64_t extent = shape[*axis], k = call.integer("k");
  if (k < 1 || k > extent) {
    return invalid("takes " + std::to_string(k) + " of " + std::to_string(extent));
  }
  Shape to = shape;
  to[*axis] = k;
  const auto axes = axes_of(to);
  const space::Axis from = space::make_axis("r", extent);
  auto ranked = indices_of(axes);
  const ir::Expr wanted = ranked[*axis];
  ranked[*axis] = ir::var_ref(from.var);
  const space::Stage place =
      call.add("place", axes, {from},
               ir::select(ir::binary(BinaryOp::Eq, element(call, 0, ranked), wanted),
                          ir::var_ref(from.var), ir::int_imm(0)));
  return written(
      call.add("value", place.axes, {}, int64_within(space::at(place, indices_of(axes)), extent)));
}

constexpr Operator kRanking[] = {
    {"ExtremePlace", 2, 2, extreme_place, nullptr, Takes::Same},
    {"PlacesOfRanks", 1, 1, places_of_ranks, nullptr},
    {"Ranks", 1, 1, ranks, nullptr},
};

}  // namespace

std::span<const Operator> ranking_operators() { return kRanking; }

}  // namespace fettle::model
