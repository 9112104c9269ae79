// Images read at places between their elements, which a tensor names while the network runs.
#include <array>

#include "host/model/operators/call.h"

namespace fettle::model {
namespace {

using ir::BinaryOp;

enum class Outside { Zeros, Border, Reflection };

ir::Expr number(double value) { return ir::float_imm(value); }
ir::Expr floor_of(const ir::Expr& x) { return ir::unary(ir::UnaryOp::Floor, x); }

// Of an axis of `extent`, whose ends are -1 and 1: of its first and last element where corners are
// aligned, otherwise half an element beyond them.
struct SampledAxis {
  std::int64_t extent;
  bool aligned;
  Outside outside;

  ir::Expr place(const ir::Expr& named) const {
    const auto length = static_cast<double>(extent);
    const ir::Expr at = aligned ? (named + number(1)) * number((length - 1) / 2)
                                : ((named + number(1)) * number(length) - number(1)) * number(0.5);
    if (outside == Outside::Zeros) return at;
    const ir::Expr inside = outside == Outside::Reflection ? reflected(at) : at;
    return space::clip(inside, 0, length - 1);
  }

  // Folded back at both ends, as often as it takes.
  ir::Expr reflected(const ir::Expr& at) const {
    const double low = aligned ? 0 : -0.5,
                 span = static_cast<double>(aligned ? extent - 1 : extent);
    if (span == 0) return number(0);
    const ir::Expr from = ir::unary(ir::UnaryOp::Abs, at - number(low));
    const ir::Expr turns = floor_of(from * number(1 / span));
    const ir::Expr rest = from - turns * number(span);
    const ir::Expr odd = turns - number(2) * floor_of(turns * number(0.5));
    return ir::select(ir::binary(BinaryOp::Lt, number(0.5), odd), number(span + low) - rest,
                      rest + number(low));
  }

  // A whole place as an index, and whether an element is there: none where the place is no number.
  // What is far outside would be outside of int32's bounds.
  std::pair<ir::Expr, ir::Expr> element(const ir::Expr& whole) const {
    const ir::Expr placed = ir::select(ir::binary(BinaryOp::Eq, whole, whole), whole, number(-2));
    const ir::Expr near =
        ir::cast(ir::kInt32, space::clip(placed, -2, static_cast<double>(extent + 1)));
    const ir::Expr there = ir::binary(BinaryOp::And, ir::binary(BinaryOp::Le, ir::int_imm(0), near),
                                      ir::binary(BinaryOp::Lt, near, ir::int_imm(extent)));
    return {space::clip(near, 0, static_cast<double>(extent - 1)), there};
  }
};

// The elements around a place and their weights.
struct Tap {
  ir::Expr index, there, weight;  // weight: null where it is 1
};

std::vector<Tap> taps_of(const SampledAxis& axis, const ir::Expr& named, bool nearest) {
  const ir::Expr place = axis.place(named);
  if (nearest) {
    const auto [index, there] = axis.element(ir::unary(ir::UnaryOp::RoundEven, place));
    return {{index, there, nullptr}};
  }
  const ir::Expr before = floor_of(place), fraction = place - before;
  const auto [first, first_there] = axis.element(before);
  const auto [second, second_there] = axis.element(before + number(1));
  return {{first, first_there, number(1) - fraction}, {second, second_there, fraction}};
}

// x [n][c][height][width] at grid [n][…][…][2], of which the first names columns.
Result<Written> grid_sample(const NodeCall& call) {
  const Shape &x = call.shape(0), &grid = call.shape(1);
  if (x.size() != 4 || grid.size() != 4) return unsupported("of other than two spatial axes");
  if (grid[0] != x[0] || grid[3] != 2) return invalid("its grid does not fit its input");
  const std::string mode = call.word("mode"), padding = call.word("padding_mode");
  if (mode != "linear" && mode != "nearest") return unsupported("the mode " + mode);
  const bool known = padding == "zeros" || padding == "border" || padding == "reflection";
  if (!known) return unsupported("padding by " + padding);
  const Outside outside = padding == "zeros"    ? Outside::Zeros
                          : padding == "border" ? Outside::Border
                                                : Outside::Reflection;
  const bool aligned = call.integer("align_corners") != 0;
  const auto axes = axes_of({x[0], x[1], grid[1], grid[2]});
  const auto at = indices_of(axes);
  const auto taps = [&](std::size_t d, std::int64_t which) {
    const ir::Expr named = widened(element(call, 1, {at[0], at[2], at[3], ir::int_imm(which)}));
    return taps_of({x[d], aligned, outside}, named, mode == "nearest");
  };
  const auto rows = taps(2, 1), columns = taps(3, 0);
  ir::Expr sum;
  for (const Tap& row : rows) {
    for (const Tap& column : columns) {
      ir::Expr value = widened(element(call, 0, {at[0], at[1], row.index, column.index}));
      if (outside == Outside::Zeros) {
        value = ir::select(ir::binary(BinaryOp::And, row.there, column.there), value, number(0));
      }
      if (row.weight) value = value * (row.weight * column.weight);
      sum = sum ? sum + value : value;
    }
  }
  return written(call.add("sampled", axes, {}, narrowed(sum, call.scalar(0))));
}

constexpr Operator kGridSample[] = {
    {"GridSample", 2, 2, grid_sample, nullptr, Takes::Floats},
};

}  // namespace

std::span<const Operator> grid_sample_operators() { return kGridSample; }

}  // namespace fettle::model
