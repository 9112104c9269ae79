// Operators that put elements at places which another tensor names.
#include <algorithm>
#include <functional>

#include "host/model/onnx/composer.h"
#include "host/space/tensor.h"

namespace fettle::model {
namespace {

// Masks are made so, of what is known: elements or slices put at places.
Outputs known_scatter(const NodeReader& node, std::vector<double> data,
                      const std::vector<double>& places, const std::vector<double>& updates) {
  const NodeReader::List shape = node.shape(0), of_places = node.shape(1);
  const std::int64_t named = of_places.empty() ? 0 : of_places.back();
  if (named < 1 || named > std::ssize(shape) || node.type(2).scalar != node.type(0).scalar) {
    return node.invalid("its places do not fit its input");
  }
  std::int64_t slice = 1;
  for (std::size_t d = static_cast<std::size_t>(named); d < shape.size(); ++d) slice *= shape[d];
  const std::size_t count = places.size() / static_cast<std::size_t>(named);
  if (updates.size() != count * static_cast<std::size_t>(slice)) {
    return node.invalid("its updates do not fit its places");
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(named); ++d) {
      auto place = static_cast<std::int64_t>(places[i * static_cast<std::size_t>(named) + d]);
      if (place < 0) place += shape[d];
      if (place < 0 || place >= shape[d]) return node.invalid("a place outside its input");
      at = at * shape[d] + place;
    }
    std::copy_n(updates.begin() + static_cast<std::ptrdiff_t>(i) * slice, slice,
                data.begin() + at * slice);
  }
  auto bytes = space::to_bytes(data, {node.type(0).scalar, 1});
  if (!bytes) return std::move(bytes).error();
  return std::vector<ValueId>{node.constant(OnnxTensor{node.type(0), std::move(*bytes)})};
}

// The data with updates combined into it, or the last ones put in their stead. `put` makes what our
// node of that name makes of the places, and of updates beside them; `taken` what the updates have
// at their numbers.
Outputs combined(const NodeReader& node, Composer& make,
                 const std::function<ValueId(const std::string& combine, bool with_updates)>& put,
                 const std::function<ValueId(ValueId last)>& taken) {
  const ValueId data = node.input(0);
  const ir::Scalar scalar = node.type(0).scalar;
  const std::string reduction = node.word("reduction", "none");
  if (node.type(2).scalar != scalar) return node.invalid("its updates are of another type");
  if (reduction == "none") {
    const ValueId last = put("max", false);
    // Where nothing is put, -1 takes some update, which is not chosen.
    const ValueId updates = taken(last);
    NodeReader::List shape = make.shape(last);
    shape.resize(node.shape(0).size(), 1);
    const ValueId here = make("GreaterOrEqual", {last, make.number(0, ir::Scalar::Int32)});
    return make.end({make("Where", {make.reshape(here, shape), updates, data})});
  }
  const char* op = reduction == "add"   ? "Add"
                   : reduction == "max" ? "Max"
                   : reduction == "min" ? "Min"
                                        : nullptr;
  if (!op) return node.unsupported("the reduction " + reduction);
  if (scalar == ir::Scalar::Bool) return node.unsupported("a reduction of conditions");
  return make.end({make(op, {data, make.cast(put(reduction, true), scalar)})});
}

Result<void> check_inputs(const NodeReader& node) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (!node.has_input(i)) return node.invalid("has no input, places or updates");
  }
  return {};
}

Outputs scatter_at(const NodeReader& node) {
  if (auto there = check_inputs(node); !there) return std::move(there).error();
  const auto data = node.numbers(0), places = node.numbers(1), updates = node.numbers(2);
  if (data && places && updates && node.word("reduction", "none") == "none") {
    return known_scatter(node, *data, *places, *updates);
  }
  const NodeReader::List shape = node.shape(0), of_places = node.shape(1);
  const std::int64_t named = of_places.empty() ? 0 : of_places.back();
  if (named < 1 || named > std::ssize(shape))
    return node.invalid("its places do not fit its input");
  std::int64_t count = 1;
  for (std::size_t d = 0; d + 1 < of_places.size(); ++d) count *= of_places[d];
  const NodeReader::List extents(shape.begin(), shape.begin() + named);
  NodeReader::List slices(shape.begin() + named, shape.end());
  NodeReader::List wanted(of_places.begin(), of_places.end() - 1);
  wanted.insert(wanted.end(), slices.begin(), slices.end());
  if (node.shape(2) != wanted) return node.invalid("its updates do not fit its places");
  if (auto inside = check_known_places(node, extents); !inside) return std::move(inside).error();
  slices.insert(slices.begin(), count);
  Composer make(node);
  const ValueId flat = make.reshape(node.input(1), {count, named});
  const ValueId values = make.reshape(node.input(2), slices);
  const auto put = [&](const std::string& combine, bool with_updates) {
    std::vector<ValueId> inputs = {flat};
    if (with_updates) inputs.push_back(values);
    return make("PutAt", inputs, {{"extents", extents}, {"combine", combine}});
  };
  const auto taken = [&](ValueId last) { return make("Take", {values, last}, {{"axis", 0}}); };
  return combined(node, make, put, taken);
}

Outputs scatter_elements(const NodeReader& node) {
  if (auto there = check_inputs(node); !there) return std::move(there).error();
  const NodeReader::List shape = node.shape(0), places = node.shape(1);
  std::int64_t axis = node.integer("axis", 0);
  if (axis < 0) axis += std::ssize(shape);
  if (axis < 0 || axis >= std::ssize(shape)) return node.invalid("has no such axis");
  if (places.size() != shape.size() || node.shape(2) != places) {
    return node.invalid("its places and updates do not fit its input");
  }
  const NodeReader::List extents = {shape[std::size_t(axis)]};
  if (auto inside = check_known_places(node, extents); !inside) return std::move(inside).error();
  Composer make(node);
  const auto put = [&](const std::string& combine, bool with_updates) {
    std::vector<ValueId> inputs = {node.input(1)};
    if (with_updates) inputs.push_back(node.input(2));
    return make("PutAlong", inputs, {{"extents", shape}, {"axis", axis}, {"combine", combine}});
  };
  // Updates are gathered where they stand; beside them there are none.
  const auto taken = [&](ValueId last) {
    ValueId values = node.input(2);
    NodeReader::List behind;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      behind.push_back(std::ssize(behind) == axis ? 0 : shape[d] - places[d]);
    }
    if (std::ranges::any_of(behind, [](std::int64_t n) { return n > 0; })) {
      NodeReader::List pads(shape.size(), 0);
      pads.insert(pads.end(), behind.begin(), behind.end());
      values = make("Pad", {values}, {{"pads", pads}, {"mode", "constant"}, {"value", 0.0}});
    }
    return make("GatherElements", {values, last}, {{"axis", axis}});
  };
  return combined(node, make, put, taken);
}

constexpr ReaderRow kScatterReaders[] = {
    {"ScatterND", scatter_at},
    {"ScatterElements", scatter_elements},
    {"Scatter", scatter_elements},
};

}  // namespace

std::span<const ReaderRow> scatter_readers() { return kScatterReaders; }

}  // namespace fettle::model
