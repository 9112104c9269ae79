// Tensors and copies (bindings.h).
#include "host/model/pieces/bindings.h"

#include <algorithm>

#include "host/model/pieces/layouts.h"

namespace fettle::model {
namespace {

using nlohmann::json;

// A transposition with its axes joined where they stay neighbours.
struct Transposition {
  Shape shape, permutation;
};

// From one order of a value's axes to another.
Transposition transposition(const Shape& shape, const Order& from, const Order& to) {
  const auto longer = [&](const Order& order, const Order& other) {  // than 1, as they lie
    std::vector<LyingAxis> axes = lying(shape, order, other);
    std::erase_if(axes, [](const LyingAxis& axis) { return axis.extent == 1; });
    return axes;
  };
  const std::vector<LyingAxis> source = longer(from, to), target = longer(to, from);
  const auto place = [&](const LyingAxis& axis) {
    const auto at = std::find_if(source.begin(), source.end(),
                                 [&](const LyingAxis& other) { return other.entry == axis.entry; });
    return static_cast<std::size_t>(at - source.begin());
  };
  // Runs of axes that follow one another in both: where each begins in the source, in the target's
  // order.
  std::vector<std::size_t> begins;
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < target.size(); ++d) {
    if (d > 0 && place(target[d]) == place(target[d - 1]) + 1) {
      extents.back() *= target[d].extent;
    } else {
      begins.push_back(place(target[d]));
      extents.push_back(target[d].extent);
    }
  }
  if (begins.empty()) return {{1}, {0}};
  std::vector<std::size_t> sorted = begins;
  std::sort(sorted.begin(), sorted.end());
  Transposition out{Shape(begins.size()), {}};
  for (std::size_t run = 0; run < begins.size(); ++run) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), begins[run]) - sorted.begin();
    out.permutation.push_back(at);
    out.shape[static_cast<std::size_t>(at)] = extents[run];
  }
  return out;
}

// Conditions are bytes of 0 or 1 there.
ir::Scalar in_memory(ir::Scalar scalar) {
  return scalar == ir::Scalar::Bool ? ir::Scalar::UInt8 : scalar;
}

class Binder {
 public:
  explicit Binder(const Graph& graph)
      : graph_(graph), producer_(graph.values.size()), lies_(graph.values.size()) {
    for (const Node& node : graph.nodes) producer_[node.outputs.front()] = &node;
  }

  Result<Bindings> run(Pieces pieces) {
    out_.untuned = std::move(pieces.untuned);
    for (const ValueId input : graph_.inputs) {
      out_.inputs.push_back(add_tensor(Tensor::Kind::Input, input, {}));
    }
    for (Piece& piece : pieces.pieces) {
      if (auto bound = bind_piece(piece); !bound) return std::move(bound).error();
    }
    for (const ValueId output : graph_.outputs) {
      const std::size_t before = out_.pieces.size();
      auto tensor = output_tensor(output);
      if (!tensor) return std::move(tensor).error();
      out_.outputs.push_back(*tensor);
      for (std::size_t p = before; p < out_.pieces.size(); ++p) out_.pieces[p].of_interface = true;
    }
    return std::move(out_);
  }

 private:
  struct Place {
    TensorId tensor;
    Order order;  // of the value's own axes
  };

  const Shape& shape(ValueId value) const { return graph_.type(value).shape; }

  TensorId add_tensor(Tensor::Kind kind, ValueId value, Order order) {
    const TensorType& type = graph_.type(value);
    const TensorId id = static_cast<TensorId>(out_.tensors.size());
    out_.tensors.push_back({kind, value, order, type.scalar, type.elements()});
    lies_[value].push_back({id, std::move(order)});
    return id;
  }

  Result<void> bind_piece(Piece& piece) {
    std::vector<TensorId> inputs;
    std::size_t input = 0;
    for (const space::Stage& stage : piece.workload.dag().stages) {
      if (!stage.placeholder()) continue;
      const Operand& operand = piece.inputs[input++];
      auto tensor = find(operand.value, operand.order, stage.buffer->type.scalar);
      if (!tensor) return std::move(tensor).error();
      inputs.push_back(*tensor);
    }
    const ValueId value = piece.output.value;
    const TensorId output =
        add_tensor(Tensor::Kind::Computed, value, normal(piece.output.order, shape(value)));
    out_.pieces.push_back({std::move(piece.nodes), std::move(piece.workload), std::move(inputs),
                           output, piece.accelerated, false});
    return {};
  }

  // The value as it lies in that order, copied if need be.
  Result<TensorId> find(ValueId value, Order order, ir::Scalar scalar) {
    order = normal(std::move(order), shape(value));
    for (const Place& place : lies_[value]) {
      if (place.order != order) continue;
      if (in_memory(out_.tensors[place.tensor].scalar) == in_memory(scalar)) return place.tensor;
    }
    if (graph_.values[value].constant) {
      const TensorId id = add_tensor(Tensor::Kind::Constant, value, std::move(order));
      out_.tensors[id].scalar = scalar;
      return id;
    }
    const Node* node = producer_[value];
    const std::size_t rank = shape(value).size();
    if (has_blocks(order, rank) && lies_[value].empty()) {  // a view: of something without blocks
      auto plain = find(value, without_blocks(order, rank), scalar);
      return plain ? copy(value, {*plain, without_blocks(order, rank)}, order) : plain;
    }
    if (node && node->op == "Identity") return find(node->inputs[0], order, scalar);
    if (node && node->op == "Transpose") {
      return find(node->inputs[0], before_transposition(order, permutation_of(*node)), scalar);
    }
    if (node && moves_nothing(*node)) {
      auto same = find(node->inputs[0], {}, scalar);
      if (!same || order.empty()) return same;
      return copy(value, {*same, {}}, order);
    }
    // Nobody makes what an untuned node would.
    if (lies_[value].empty()) add_tensor(Tensor::Kind::Computed, value, {});
    return copy(value, lies_[value].front(), order);
  }

  Result<TensorId> copy(ValueId value, Place from, const Order& to) {
    const TensorType& type = graph_.type(value);
    const Transposition moved = transposition(type.shape, from.order, to);
    auto workload =
        space::Workload::parse(json{{"op", "transpose"},
                                    {"dtype", ir::to_string(ir::DataType{in_memory(type.scalar)})},
                                    {"shape", moved.shape},
                                    {"permutation", moved.permutation}});
    if (!workload) {
      const std::string named = "'" + graph_.values[value].name + "'";
      // As transpose.cpp has them.
      const bool copied = type.scalar != ir::Scalar::Int16 && type.scalar != ir::Scalar::Float64;
      std::string why = copied ? "copying " + named + ": " + workload.error().message
                               : "values of " + ir::to_string(ir::DataType{type.scalar}) +
                                     " are not computed or given out yet (" + named +
                                     "); those of float32, float16, int8, uint8, int32, int64 "
                                     "and bool are";
      for (const SkippedTask& node : out_.untuned) why += "; " + node.title + ": " + node.reason;
      return Error{ErrorCode::Unsupported, std::move(why)};
    }
    const TensorId output = add_tensor(Tensor::Kind::Computed, value, to);
    const bool given = out_.tensors[from.tensor].kind == Tensor::Kind::Input;
    out_.pieces.push_back({{}, std::move(*workload), {from.tensor}, output, false, given});
    return output;
  }

  Result<TensorId> output_tensor(ValueId value) {
    auto tensor = find(value, {}, graph_.type(value).scalar);
    if (!tensor) return tensor;
    const bool given = std::count(out_.outputs.begin(), out_.outputs.end(), *tensor) > 0;
    if (out_.tensors[*tensor].kind == Tensor::Kind::Computed && !given) return tensor;
    return copy(value, {*tensor, {}}, {});
  }

  const Graph& graph_;
  std::vector<const Node*> producer_;     // of each value
  std::vector<std::vector<Place>> lies_;  // of each value, whoever made it first
  Bindings out_;
};

}  // namespace

Result<Bindings> bind(const Graph& graph, Pieces pieces) {
  return Binder(graph).run(std::move(pieces));
}

TaskList tasks_of(const std::string& name, const Bindings& bindings, bool accelerated) {
  TaskList list;
  list.name = name;
  if (!accelerated) list.skipped = bindings.untuned;
  for (const Tensor& tensor : bindings.tensors) {
    if (tensor.kind != Tensor::Kind::Constant) continue;
    list.weights_bytes += static_cast<std::uint64_t>(tensor.bytes());
  }
  for (const BoundPiece& piece : bindings.pieces) {
    if (piece.of_interface || piece.accelerated != accelerated) continue;
    const auto same =
        std::find_if(list.tasks.begin(), list.tasks.end(),
                     [&](const space::Task& task) { return task.workload == piece.workload; });
    if (same != list.tasks.end()) {
      same->weight += 1;
    } else {
      list.tasks.push_back({piece.workload, 1});
    }
  }
  return list;
}

}  // namespace fettle::model
