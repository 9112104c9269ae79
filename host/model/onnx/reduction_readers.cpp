// Reductions and normalisations.
#include <numeric>

#include "host/model/onnx/readers.h"

namespace fettle::model {
namespace {

using List = NodeReader::List;

Outputs reduce(const NodeReader& node) {
  auto axes = node.parameter("axes", 1, {});
  if (!axes) return std::move(axes).error();
  return one(node, node.op(),
             {{"axes", *axes},
              {"keepdims", node.integer("keepdims", 1)},
              {"noop_with_empty_axes", node.integer("noop_with_empty_axes", 0)}},
             {node.input(0)});
}

// Before opset 13 over all axes from `axis` on at once.
Outputs softmax(const NodeReader& node) {
  const auto& x = node.shape(0);
  if (node.opset() >= 13) return one(node, {{"axis", node.integer("axis", -1)}});
  std::int64_t axis = node.integer("axis", 1);
  if (axis < 0) axis += static_cast<std::int64_t>(x.size());
  if (axis + 1 == static_cast<std::int64_t>(x.size())) return one(node, {{"axis", axis}});
  auto flat = node.add("Flatten", {{"axis", axis}}, {node.input(0)});
  if (!flat) return std::move(flat).error();
  auto value = node.add("Softmax", {{"axis", 1}}, {*flat});
  if (!value) return std::move(value).error();
  return one(node, "Reshape", {{"shape", x}, {"allowzero", 0}}, {*value});
}

// All spatial axes at once.
Outputs global(const NodeReader& node, const char* op) {
  List axes(node.shape(0).size() < 2 ? 0 : node.shape(0).size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  if (axes.empty()) return node.invalid("its input has no spatial axes");
  return one(node, op, {{"axes", axes}, {"keepdims", 1}, {"noop_with_empty_axes", 0}},
             {node.input(0)});
}
Outputs global_average(const NodeReader& node) { return global(node, "ReduceMean"); }
Outputs global_max(const NodeReader& node) { return global(node, "ReduceMax"); }

Outputs batch_normalization(const NodeReader& node) {
  if (node.integer("training_mode", 0)) return node.unsupported("training");
  return one(node, {{"epsilon", node.number("epsilon", 1e-5)}});
}
Outputs instance_normalization(const NodeReader& node) {
  return one(node, {{"epsilon", node.number("epsilon", 1e-5)}});
}
Outputs layer_normalization(const NodeReader& node) {
  return one(node, {{"axis", node.integer("axis", -1)}, {"epsilon", node.number("epsilon", 1e-5)}});
}

Outputs local_response_normalization(const NodeReader& node) {
  return one(node, {{"size", node.integer("size", 1)},
                    {"alpha", node.number("alpha", 1e-4)},
                    {"beta", node.number("beta", 0.75)},
                    {"bias", node.number("bias", 1)}});
}

constexpr ReaderRow kReductionReaders[] = {
    {"LRN", local_response_normalization},
    {"ReduceSum", reduce},
    {"ReduceMean", reduce},
    {"ReduceMax", reduce},
    {"ReduceMin", reduce},
    {"ReduceSumSquare", reduce},
    {"ReduceL2", reduce},
    {"Softmax", softmax},
    {"GlobalAveragePool", global_average},
    {"GlobalMaxPool", global_max},
    {"BatchNormalization", batch_normalization},
    {"InstanceNormalization", instance_normalization},
    {"LayerNormalization", layer_normalization},
};

}  // namespace

std::span<const ReaderRow> reduction_readers() { return kReductionReaders; }

}  // namespace fettle::model
