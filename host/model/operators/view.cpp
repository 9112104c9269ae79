// Operators that move nothing: the same elements with another shape.
#include "host/model/operators/call.h"

namespace fettle::model {
namespace {

std::int64_t elements(const Shape& shape) { return TensorType{{}, shape}.elements(); }

// 0 keeps the extent unless `allowzero`, one -1 is what is left.
Result<Shape> reshape(const NodeCall& call) {
  const Shape& from = call.shape(0);
  Shape to = call.list("shape");
  std::int64_t known = 1;
  if (to.size() > 8) return unsupported("more than 8 axes");
  std::optional<std::size_t> open;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (to[d] == 0 && !call.integer("allowzero")) {
      if (d >= from.size()) return invalid("keeps an axis that its input lacks");
      to[d] = from[d];
    }
    if (to[d] < -1) return invalid("has the extent " + std::to_string(to[d]));
    if (to[d] == -1) {
      if (open) return invalid("leaves two extents open");
      open = d;
    } else {
      if (to[d] > 0 && known > elements(from) / to[d]) {
        return invalid("makes more elements than there are");
      }
      known *= to[d];
    }
  }
  if (open) to[*open] = known ? elements(from) / known : 0;
  if (elements(to) != elements(from)) {
    return invalid("makes " + std::to_string(elements(to)) + " elements of " +
                   std::to_string(elements(from)));
  }
  return to;
}

Result<Shape> flatten(const NodeCall& call) {
  const Shape& from = call.shape(0);
  const std::int64_t rank = static_cast<std::int64_t>(from.size());
  std::int64_t axis = call.integer("axis");
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return invalid("has no such axis");
  std::int64_t ahead = 1;
  for (std::int64_t d = 0; d < axis; ++d) ahead *= from[d];
  return Shape{ahead, ahead ? elements(from) / ahead : 0};
}

// Without axes: every one of extent 1.
Result<Shape> squeeze(const NodeCall& call) {
  const Shape& from = call.shape(0);
  auto axes = axis_numbers(call.list("axes"), from.size());
  if (!axes) return std::move(axes).error();
  Shape to;
  for (std::size_t d = 0; d < from.size(); ++d) {
    const bool named = std::find(axes->begin(), axes->end(), d) != axes->end();
    if (named && from[d] != 1) return invalid("squeezes an axis of " + std::to_string(from[d]));
    if (!(named || (axes->empty() && from[d] == 1))) to.push_back(from[d]);
  }
  return to;
}

Result<Shape> unsqueeze(const NodeCall& call) {
  const Shape& from = call.shape(0);
  const auto wanted = call.list("axes");
  auto axes = axis_numbers(wanted, from.size() + wanted.size());
  if (!axes) return std::move(axes).error();
  Shape to = from;
  for (const std::size_t axis : *axes) to.insert(to.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return to;
}

Result<Shape> identity(const NodeCall& call) { return call.shape(0); }

constexpr Operator kView[] = {
    {"Reshape", 1, 1, nullptr, reshape},   {"Flatten", 1, 1, nullptr, flatten},
    {"Squeeze", 1, 1, nullptr, squeeze},   {"Unsqueeze", 1, 1, nullptr, unsqueeze},
    {"Identity", 1, 1, nullptr, identity},
};

}  // namespace

std::span<const Operator> view_operators() { return kView; }

}  // namespace fettle::model
