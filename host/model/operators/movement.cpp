// Operators that put elements elsewhere.
#include "host/model/operators/call.h"

namespace fettle::model {
namespace {

using ir::BinaryOp;

ir::Expr at_least(const ir::Expr& index, std::int64_t bound) {
  return ir::binary(BinaryOp::Le, ir::int_imm(bound), index);
}
ir::Expr below(const ir::Expr& index, std::int64_t bound) {
  return ir::binary(BinaryOp::Lt, index, ir::int_imm(bound));
}
ir::Expr both(const ir::Expr& a, const ir::Expr& b) {
  return a ? ir::binary(BinaryOp::And, a, b) : b;
}

Result<Written> transpose(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  const auto order = call.list("perm");
  auto named = axis_numbers(order, shape.size());
  if (!named) return std::move(named).error();
  if (order.size() != shape.size()) return invalid("its permutation has another rank");
  Shape to;
  for (const std::int64_t d : order) to.push_back(shape[static_cast<std::size_t>(d)]);
  const auto axes = axes_of(to);
  const auto indices = indices_of(axes);
  std::vector<ir::Expr> from(shape.size());
  for (std::size_t d = 0; d < order.size(); ++d) {
    from[static_cast<std::size_t>(order[d])] = indices[d];
  }
  Written out = written(call.add("transposed", axes, {}, element(call, 0, from)));
  out.shape = to;
  return out;
}

Result<Written> concat(const NodeCall& call) {
  Shape to = call.shape(0);
  auto axis = axis_number(call.integer("axis"), to.size());
  if (!axis) return std::move(axis).error();
  to[*axis] = 0;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    Shape other = call.shape(i);
    if (other.size() != to.size() || call.scalar(i) != call.scalar(0)) {
      return invalid("its inputs differ in rank or type");
    }
    to[*axis] += other[*axis];
    other[*axis] = to[*axis];
    if (other != to) return invalid("its inputs differ beside the axis");
  }
  const auto axes = axes_of(to);
  const auto indices = indices_of(axes);
  ir::Expr value;
  // From the last one on: what lies before a boundary is chosen over what lies behind.
  std::int64_t end = to[*axis];
  for (std::size_t i = call.inputs(); i-- > 0;) {
    const std::int64_t begin = end - call.shape(i)[*axis];
    auto from = indices;
    from[*axis] = indices[*axis] - ir::int_imm(begin);
    const ir::Expr inside = both(at_least(indices[*axis], begin), below(indices[*axis], end));
    const ir::Expr part = element_where(call, i, from, inside);
    value = value ? ir::select(below(indices[*axis], end), part, value) : part;
    end = begin;
  }
  return written(call.add("joined", axes, {}, value));
}

// begin + step * i of each axis: starts and steps for all axes, extents of the output.
Result<Written> slice(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  const auto starts = call.list("starts"), steps = call.list("steps"), to = call.list("shape");
  if (starts.size() != shape.size()) return invalid("its starts have another rank");
  const auto axes = axes_of(to);
  std::vector<ir::Expr> from;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    from.push_back(ir::var_ref(axes[d].var) * ir::int_imm(steps[d]) + ir::int_imm(starts[d]));
  }
  return written(call.add("slice", axes, {}, element(call, 0, from)));
}

// Elements of "value" around; mode constant. Other modes are refused.
Result<Written> pad(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  const auto pads = call.list("pads");
  if (pads.size() != 2 * shape.size()) return invalid("its pads have another rank");
  if (call.word("mode") != "constant") return unsupported("the mode " + call.word("mode"));
  Shape to = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    to[d] += pads[d] + pads[shape.size() + d];
    if (to[d] < 1) return invalid("leaves nothing of an axis");
  }
  const auto axes = axes_of(to);
  std::vector<ir::Expr> from;
  ir::Expr inside;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    from.push_back(ir::var_ref(axes[d].var) - ir::int_imm(pads[d]));
    if (pads[d] == 0 && pads[shape.size() + d] == 0) continue;
    inside = both(inside, both(at_least(from[d], 0), below(from[d], shape[d])));
  }
  if (!inside) return written(call.add("padded", axes, {}, element(call, 0, from)));
  const double value = call.number("value");
  const ir::DataType type{call.scalar(0)};
  const ir::Expr outside = type.is_float() ? ir::float_imm(value, type)
                                           : ir::int_imm(static_cast<std::int64_t>(value), type);
  ir::Expr body = element_where(call, 0, from, inside);
  if (value != 0) body = ir::select(inside, body, outside);
  return written(call.add("padded", axes, {}, body));
}

Result<Written> expand(const NodeCall& call) {
  for (const std::int64_t extent : call.list("shape")) {
    if (extent < 1) return unsupported("an extent of " + std::to_string(extent));
  }
  auto shape = broadcast({call.shape(0), call.list("shape")});
  if (!shape) return std::move(shape).error();
  const auto axes = axes_of(*shape);
  Written out = written(call.add("expanded", axes, {}, broadcast_element(call, 0, axes)));
  out.shape = *shape;
  return out;
}

// Each axis of the output is `repeats` times that of the input; what is computed has an axis more
// for each that repeats, and is stored as if it had not.
Result<Written> repeated(const NodeCall& call, const Shape& repeats, bool neighbours) {
  const Shape& shape = call.shape(0);
  std::vector<space::Axis> axes;
  std::vector<ir::Expr> from, places;
  Shape to;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const space::Axis axis = space::make_axis("d" + std::to_string(d), shape[d]);
    from.push_back(ir::var_ref(axis.var));
    to.push_back(shape[d] * repeats[d]);
    if (repeats[d] == 1) {
      axes.push_back(axis);
      places.push_back(ir::var_ref(axis.var));
      continue;
    }
    const space::Axis copy = space::make_axis("c" + std::to_string(d), repeats[d]);
    const ir::Expr i = ir::var_ref(axis.var), c = ir::var_ref(copy.var);
    places.push_back(neighbours ? i * ir::int_imm(repeats[d]) + c : c * ir::int_imm(shape[d]) + i);
    axes.push_back(neighbours ? axis : copy);
    axes.push_back(neighbours ? copy : axis);
  }
  const ir::Expr value = element(call, 0, from);
  return Written{call.add_at("repeated", axes, value, to, places), to};
}

Result<Written> tile(const NodeCall& call) {
  const auto repeats = call.list("repeats");
  if (repeats.size() != call.shape(0).size()) return invalid("its repeats have another rank");
  for (const std::int64_t count : repeats) {
    if (count < 1) return unsupported("a repeat of " + std::to_string(count));
  }
  return repeated(call, repeats, false);
}

// Nearest neighbours, by whole factors.
Result<Written> resize(const NodeCall& call) {
  const auto scales = call.list("scales");
  if (scales.size() != call.shape(0).size()) return invalid("its scales have another rank");
  for (const std::int64_t scale : scales) {
    if (scale < 1) return unsupported("a scale of " + std::to_string(scale));
  }
  return repeated(call, scales, true);
}

// "indices" along an axis, known and not negative: a slice each, joined.
Result<Written> gather(const NodeCall& call) {
  const Shape& shape = call.shape(0);
  auto axis = axis_number(call.integer("axis"), shape.size());
  if (!axis) return std::move(axis).error();
  const auto places = call.list("indices");
  const auto index_shape = call.list("index_shape");
  if (places.empty()) return unsupported("no indices");
  if (places.size() > 1024) return unsupported("more than 1024 indices");
  Shape to(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  to.push_back(static_cast<std::int64_t>(places.size()));
  to.insert(to.end(), shape.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, shape.end());
  const auto axes = axes_of(to);
  const auto indices = indices_of(axes);
  ir::Expr value;
  for (std::size_t i = places.size(); i-- > 0;) {
    if (places[i] < 0 || places[i] >= shape[*axis]) return invalid("an index outside its input");
    auto from = indices;
    from[*axis] = ir::int_imm(places[i]);
    const ir::Expr part = element(call, 0, from);
    value = value ? ir::select(below(indices[*axis], static_cast<std::int64_t>(i) + 1), part, value)
                  : part;
  }
  Written out = written(call.add("gathered", axes, {}, value));
  out.shape = to;
  out.shape.erase(out.shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  out.shape.insert(out.shape.begin() + static_cast<std::ptrdiff_t>(*axis), index_shape.begin(),
                   index_shape.end());
  return out;
}

constexpr Operator kMovement[] = {
    {"Transpose", 1, 1, transpose, nullptr}, {"Concat", 1, 1024, concat, nullptr},
    {"Slice", 1, 1, slice, nullptr},         {"Pad", 1, 1, pad, nullptr},
    {"Expand", 1, 1, expand, nullptr},       {"Tile", 1, 1, tile, nullptr},
    {"Resize", 1, 1, resize, nullptr},       {"Gather", 1, 1, gather, nullptr},
};

}  // namespace

std::span<const Operator> movement_operators() { return kMovement; }

}  // namespace fettle::model
