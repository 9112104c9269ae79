// Operators that read at places which another tensor names, and those of triangles and running
// sums, which masks are made of.
#include <algorithm>

#include "host/model/onnx/readers.h"

namespace fettle::model {

Result<void> check_known_places(const NodeReader& node, const NodeReader::List& extents) {
  const auto places = node.numbers(1);
  for (std::size_t i = 0; places && i < places->size(); ++i) {
    const auto extent = static_cast<double>(extents[i % extents.size()]);
    if ((*places)[i] < -extent || (*places)[i] >= extent) {
      return node.invalid("an index outside its input");
    }
  }
  return {};
}

namespace {

// A few places that are known: slices, joined.
constexpr std::int64_t kMostSlices = 64;

Outputs gather(const NodeReader& node) {
  const auto& x = node.shape(0);
  if (!node.has_input(1)) return node.invalid("has no indices");
  std::int64_t axis = node.integer("axis", 0);
  if (axis < 0) axis += static_cast<std::int64_t>(x.size());
  if (axis < 0 || axis >= static_cast<std::int64_t>(x.size()))
    return node.invalid("has no such axis");
  const std::int64_t extent = x[static_cast<std::size_t>(axis)];
  if (auto inside = check_known_places(node, {extent}); !inside) return std::move(inside).error();
  if (!node.numbers(1) || node.type(1).elements() > kMostSlices) {
    return one(node, "Take", {{"axis", axis}}, {node.input(0), node.input(1)});
  }
  auto indices = node.parameter("indices", 1, {});
  if (!indices) return std::move(indices).error();
  for (std::int64_t& index : *indices) {
    if (index < 0) index += extent;
  }
  return one(node, "Gather",
             {{"axis", axis}, {"indices", *indices}, {"index_shape", node.shape(1)}},
             {node.input(0)});
}

Outputs gather_elements(const NodeReader& node) {
  const NodeReader::List shape = node.shape(0);
  const std::int64_t given = node.integer("axis", 0),
                     axis = given < 0 ? given + std::ssize(shape) : given;
  if (axis >= 0 && axis < std::ssize(shape)) {
    const NodeReader::List extents = {shape[static_cast<std::size_t>(axis)]};
    if (auto inside = check_known_places(node, extents); !inside) return std::move(inside).error();
  }
  return one(node, {{"axis", node.integer("axis", 0)}});
}

Outputs gather_at(const NodeReader& node) {
  const NodeReader::List shape = node.shape(0), places = node.shape(1);
  const std::int64_t batch = node.integer("batch_dims", 0),
                     named = places.empty() ? 0 : places.back();
  if (batch >= 0 && named > 0 && batch < std::ssize(shape) && named <= std::ssize(shape) - batch) {
    const NodeReader::List extents(shape.begin() + batch, shape.begin() + batch + named);
    if (auto inside = check_known_places(node, extents); !inside) return std::move(inside).error();
  }
  return one(node, {{"batch_dims", node.integer("batch_dims", 0)}});
}

Outputs triangle(const NodeReader& node) {
  auto diagonal = node.number_parameter("k", 1, 0);
  if (!diagonal) return std::move(diagonal).error();
  const double bound = static_cast<double>(NodeReader::kMost / 2);
  return one(node, "Trilu",
             {{"upper", node.integer("upper", 1)},
              {"diagonal", static_cast<std::int64_t>(std::clamp(*diagonal, -bound, bound))}},
             {node.input(0)});
}

Outputs running_sum(const NodeReader& node) {
  auto axis = node.number_parameter("axis", 1, 0);
  if (!axis) return std::move(axis).error();
  return one(node, "CumSum",
             {{"axis", static_cast<std::int64_t>(std::clamp(*axis, -64.0, 64.0))},
              {"exclusive", node.integer("exclusive", 0)},
              {"reverse", node.integer("reverse", 0)}},
             {node.input(0)});
}

constexpr ReaderRow kGatherReaders[] = {
    {"Gather", gather},      {"GatherElements", gather_elements},
    {"GatherND", gather_at}, {"Trilu", triangle},
    {"CumSum", running_sum},
};

}  // namespace

std::span<const ReaderRow> gather_readers() { return kGatherReaders; }

}  // namespace fettle::model
