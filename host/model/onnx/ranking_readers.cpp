// Classes and places: what is largest, and tensors that mark it.
#include "host/model/onnx/composer.h"

namespace fettle::model {
namespace {

using List = NodeReader::List;

Outputs extreme_place(const NodeReader& node) {
  Composer make(node);
  return make.end({make.extreme_place(node.input(0), node.integer("axis", 0), node.op() == "ArgMin",
                                      node.integer("select_last_index", 0) != 0,
                                      node.integer("keepdims", 1) != 0)});
}

// The values, and their places.
Outputs top(const NodeReader& node) {
  auto count = node.number_parameter("k", 1, 1);
  if (!count) return std::move(count).error();
  if (!(*count >= 1 && *count <= static_cast<double>(NodeReader::kMost))) {
    return node.invalid("its k is no count");
  }
  const std::int64_t axis = node.integer("axis", -1);
  Composer make(node);
  const ValueId ranks =
      make("Ranks", {node.input(0)}, {{"axis", axis}, {"largest", node.integer("largest", 1)}});
  const ValueId places =
      make("PlacesOfRanks", {ranks}, {{"axis", axis}, {"k", static_cast<std::int64_t>(*count)}});
  const ValueId values = make("GatherElements", {node.input(0), places}, {{"axis", axis}});
  return make.end({values, places});
}

// 1 where an axis is largest for the first time, else 0.
Outputs hardmax(const NodeReader& node) {
  return along_axis(node, [](Composer& make, ValueId x, std::int64_t axis) {
    const ValueId largest = make.extreme_place(x, axis, false, false, true);
    const TensorType whole = make.type(x);
    if (make.error()) return kNoValue;
    const auto rank = std::ssize(whole.shape);
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    const ValueId places =
        make.places(whole.shape[at], whole.shape.size() - at - 1, ir::Scalar::Int64);
    return make.cast(make("Equal", {places, largest}), whole.scalar);
  });
}

// Of places along a new axis of `depth`; one outside of it marks nothing.
Outputs one_hot(const NodeReader& node) {
  auto depth = node.number_parameter("depth", 1, 0);
  if (!depth) return std::move(depth).error();
  constexpr double kMostDepth = 1 << 24;
  if (!(*depth >= 1 && *depth <= kMostDepth)) return node.invalid("its depth is no extent");
  if (node.shape(2) != List{2}) return node.invalid("its values are not two");
  const auto extent = static_cast<std::int64_t>(*depth);
  const List shape = node.shape(0);
  std::int64_t axis = node.integer("axis", -1);
  if (axis < 0) axis += std::ssize(shape) + 1;
  if (axis < 0 || axis > std::ssize(shape)) return node.invalid("has no such axis");
  Composer make(node);
  const auto at = static_cast<std::size_t>(axis);
  List spread = shape;
  spread.insert(spread.begin() + axis, 1);
  ValueId places = make.reshape(make.cast(node.input(0), ir::Scalar::Int64), spread);
  const auto number = [&](double value) { return make.number(value, ir::Scalar::Int64); };
  const ValueId from_end = make("Less", {places, number(0)});
  places = make("Where", {from_end, make("Add", {places, number(*depth)}), places});
  const ValueId marks =
      make("Equal", {make.places(extent, shape.size() - at, ir::Scalar::Int64), places});
  const auto value = [&](std::int64_t i) {
    return make("Gather", {node.input(2)},
                {{"axis", 0}, {"indices", List{i}}, {"index_shape", List{}}});
  };
  return make.end({make("Where", {marks, value(1), value(0)})});
}

// Images read at places between their elements. Names of modes are those of opset 20.
Outputs grid_sample(const NodeReader& node) {
  std::string mode = node.word("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  return one(node, {{"mode", mode},
                    {"padding_mode", node.word("padding_mode", "zeros")},
                    {"align_corners", node.integer("align_corners", 0)}});
}

constexpr ReaderRow kRankingReaders[] = {
    {"ArgMax", extreme_place}, {"ArgMin", extreme_place}, {"GridSample", grid_sample},
    {"Hardmax", hardmax},      {"OneHot", one_hot},       {"TopK", top},
};

}  // namespace

std::span<const ReaderRow> ranking_readers() { return kRankingReaders; }

}  // namespace fettle::model
