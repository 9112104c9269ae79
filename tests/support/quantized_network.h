// A small network with what quantised networks have, quantised by its own sample.
#pragma once

#include "host/model/onnx/export.h"
#include "host/model/passes/fold_batch_norm.h"
#include "host/model/passes/quantize.h"
#include "tests/support/onnx_model.h"

namespace fettle::testing {

template <typename T>
model::TensorBytes bytes_of(const std::vector<T>& list) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(list.data());
  return std::make_shared<const std::vector<std::uint8_t>>(begin, begin + list.size() * sizeof(T));
}
template <typename T>
std::vector<T> list_of(const model::TensorBytes& bytes) {
  const auto* begin = reinterpret_cast<const T*>(bytes->data());
  return {begin, begin + bytes->size() / sizeof(T)};
}

inline std::vector<float> random_numbers(std::size_t count, std::uint64_t seed, float most) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> draw(-most, most);
  std::vector<float> list(count);
  for (float& number : list) number = draw(random);
  return list;
}

// A window, a residual sum, a mean and a classifier.
inline OnnxModel small_network(std::int64_t channels = 8) {
  const std::int64_t c = channels;
  using Model = OnnxModel;
  OnnxModel model;
  model.input("x", {1, c, 12, 12});
  model.weights("w1", {c, c, 3, 3});
  model.weights("w2", {c, c, 3, 3});
  model.weights("w3", {c, c, 1, 1});
  model.weights("w4", {10, c});
  model.weights("b4", {10});
  Model::integers(model.node("Conv", {"x", "w1"}, "c1"), "pads", {1, 1, 1, 1});
  model.norm("c1", channels, "n1");
  model.node("Relu", {"n1"}, "r1");
  onnx::NodeProto& pool = model.node("MaxPool", {"r1"}, "p1");
  Model::integers(pool, "kernel_shape", {2, 2});
  Model::integers(pool, "strides", {2, 2});
  Model::integers(model.node("Conv", {"p1", "w2"}, "c2"), "pads", {1, 1, 1, 1});
  model.norm("c2", channels, "n2");
  model.node("Conv", {"p1", "w3"}, "c3");
  model.node("Add", {"n2", "c3"}, "s");
  model.node("Relu", {"s"}, "r2");
  model.node("GlobalAveragePool", {"r2"}, "m");
  model.node("Flatten", {"m"}, "f");
  onnx::NodeProto& dense = model.node("Gemm", {"f", "w4", "b4"}, "y");
  onnx::AttributeProto& flip = *dense.add_attribute();
  flip.set_name("transB");
  flip.set_type(onnx::AttributeProto::INT);
  flip.set_i(1);
  model.output("y");
  return model;
}

// For x of float32 [1, channels, 12, 12]. Written to `path` and read again. Its outputs are the
// bytes of every quantisation.
inline Result<model::Graph> quantized_network(const std::string& path, const model::TensorBytes& x,
                                              bool power_of_two, std::int64_t channels = 8) {
  std::ofstream(path, std::ios::binary) << small_network(channels).text();
  auto graph = model::import_onnx(path);
  if (!graph) return graph;
  if (auto folded = fold_batch_norms(*graph); !folded) return std::move(folded).error();
  const auto largest = largest_magnitudes(*graph, {{x}});
  if (!largest) return largest.error();
  auto out = quantize(std::move(*graph), *largest, {power_of_two});
  if (!out) return out;
  if (auto written = export_onnx(*out, path); !written) return std::move(written).error();
  auto again = model::import_onnx(path);
  if (!again) return again;
  again->outputs.clear();
  for (const model::Node& node : again->nodes) {
    if (node.op == "QuantizeLinear") again->outputs.push_back(node.outputs.front());
  }
  return again;
}

}  // namespace fettle::testing
