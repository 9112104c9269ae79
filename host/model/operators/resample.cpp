// Images of another size. Along each axis the place of output element i in the input is
// (step * i + offset) / divisor: whole numbers, so that every back end finds the same place.
#include <cmath>
#include <functional>

#include "host/model/operators/call.h"

namespace fettle::model {
namespace {

using ir::BinaryOp;

struct Grid {
  Shape to, steps, offsets, divisors;
};

Result<Grid> grid_of(const NodeCall& call) {
  const std::size_t rank = call.shape(0).size();
  Grid grid{call.list("shape"), call.list("steps"), call.list("offsets"), call.list("divisors")};
  for (const Shape* list : {&grid.to, &grid.steps, &grid.offsets, &grid.divisors}) {
    if (list->size() != rank) return invalid("its places have another rank");
  }
  constexpr double kMost = 1 << 30;  // places are int32
  for (std::size_t d = 0; d < rank; ++d) {
    const double last =
        double(grid.steps[d]) * double(grid.to[d]) + std::abs(double(grid.offsets[d]));
    if (grid.to[d] < 1 || grid.divisors[d] < 1 || grid.steps[d] < 0 || last > kMost ||
        double(grid.divisors[d]) > kMost) {
      return unsupported("places beyond 2^30");
    }
  }
  return grid;
}

bool stays(const NodeCall& call, const Grid& grid, std::size_t d) {
  return grid.to[d] == call.shape(0)[d] && grid.steps[d] == grid.divisors[d] &&
         grid.offsets[d] == 0;
}

ir::Expr inside(const ir::Expr& index, std::int64_t extent) {
  return ir::binary(BinaryOp::Min, ir::binary(BinaryOp::Max, index, ir::int_imm(0)),
                    ir::int_imm(extent - 1));
}

// The place's numerator.
ir::Expr numerator(const Grid& grid, std::size_t d, const ir::Expr& i) {
  return i * ir::int_imm(grid.steps[d]) + ir::int_imm(grid.offsets[d]);
}
ir::Expr quotient(const ir::Expr& a, std::int64_t divisor) {
  return ir::binary(BinaryOp::Div, a, ir::int_imm(divisor));
}

// The element whose place is nearest: rounded down after the offset that the reader chose.
Result<Written> nearest(const NodeCall& call) {
  auto grid = grid_of(call);
  if (!grid) return std::move(grid).error();
  const auto axes = axes_of(grid->to);
  auto from = indices_of(axes);
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (stays(call, *grid, d)) continue;
    from[d] = inside(quotient(numerator(*grid, d, from[d]), grid->divisors[d]), call.shape(0)[d]);
  }
  return written(call.add("resized", axes, {}, element(call, 0, from)));
}

// Weights of the elements around a place whose fraction is f, from `first` on.
struct Taps {
  std::int64_t first;
  std::vector<ir::Expr> weights;
};
Taps linear_taps(const ir::Expr& f) { return {0, {ir::float_imm(1) - f, f}}; }

// Keys' cubic convolution with a: of distances below 1, and of 1 to 2.
Taps cubic_taps(const ir::Expr& f, double a) {
  const auto number = [](double value) { return ir::float_imm(value); };
  const auto near = [&](const ir::Expr& t) {
    return (number(a + 2) * t - number(a + 3)) * t * t + number(1);
  };
  const auto far = [&](const ir::Expr& t) {
    return ((number(a) * t - number(5 * a)) * t + number(8 * a)) * t - number(4 * a);
  };
  const ir::Expr g = number(1) - f;
  return {-1, {far(f + number(1)), near(f), near(g), far(g + number(1))}};
}

Result<Written> interpolated(const NodeCall& call) {
  auto grid = grid_of(call);
  if (!grid) return std::move(grid).error();
  const bool cubic = call.word("mode") == "cubic";
  if (!cubic && call.word("mode") != "linear") return unsupported("the mode " + call.word("mode"));
  const auto axes = axes_of(grid->to);
  const auto at = indices_of(axes);
  std::vector<Taps> taps(at.size());
  std::vector<ir::Expr> floors(at.size());
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (stays(call, *grid, d)) continue;
    const ir::Expr place = numerator(*grid, d, at[d]);
    const ir::Expr rest = ir::binary(BinaryOp::Mod, place, ir::int_imm(grid->divisors[d]));
    const ir::Expr fraction =
        ir::cast(ir::kFloat32, rest) * ir::float_imm(1.0 / static_cast<double>(grid->divisors[d]));
    floors[d] = quotient(place, grid->divisors[d]);
    taps[d] = cubic ? cubic_taps(fraction, call.number("cubic_coeff_a")) : linear_taps(fraction);
  }
  // Axis by axis: the weighted sum of what the axes behind it make.
  auto from = at;
  const std::function<ir::Expr(std::size_t)> value = [&](std::size_t d) -> ir::Expr {
    if (d == from.size()) return widened(element(call, 0, from));
    if (!floors[d]) return value(d + 1);
    ir::Expr sum;
    for (std::size_t i = 0; i < taps[d].weights.size(); ++i) {
      const std::int64_t step = taps[d].first + static_cast<std::int64_t>(i);
      from[d] = inside(floors[d] + ir::int_imm(step), call.shape(0)[d]);
      const ir::Expr part = value(d + 1) * taps[d].weights[i];
      sum = sum ? sum + part : part;
    }
    return sum;
  };
  const ir::Expr sum = value(0);
  return written(call.add("resized", axes, {}, narrowed(sum, call.scalar(0))));
}

constexpr Operator kResample[] = {
    {"ResizeNearest", 1, 1, nearest, nullptr},
    {"ResizeSmooth", 1, 1, interpolated, nullptr, Takes::Floats},
};

}  // namespace

std::span<const Operator> resample_operators() { return kResample; }

}  // namespace fettle::model
