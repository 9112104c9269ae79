// The list of networks (zoo.h).
#include "host/model/zoo/zoo.h"

#include <cstring>
#include <random>

#include "host/model/onnx/export.h"
#include "host/model/onnx/import.h"
#include "host/model/passes/fold_batch_norm.h"
#include "host/model/passes/quantize.h"
#include "host/process/run_program.h"

namespace fettle::model {
namespace {

// Numbers like those of images that were brought to mean 0 and variance 1.
std::vector<TensorBytes> sample_inputs(const Graph& graph, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<TensorBytes> inputs;
  for (const ValueId id : graph.inputs) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(graph.type(id).bytes()));
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      // The sum of twelve, of the generator's bits alone: the same on every machine.
      double sum = -6;
      for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 40) * 0x1p-24;
      const float number = static_cast<float>(sum);
      std::memcpy(&bytes[at], &number, sizeof number);
    }
    inputs.push_back(std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes)));
  }
  return inputs;
}

// The same network for an image of that size; its values are the same ones. Errors: an operator
// that wants its input's size.
Result<Graph> at_size(Graph graph, std::int64_t size) {
  for (const ValueId id : graph.inputs) {
    auto& shape = graph.values[id].type.shape;
    if (shape.size() == 4) shape[2] = shape[3] = size;
  }
  for (const Node& node : graph.nodes) {
    std::vector<const TensorType*> types;
    for (const ValueId id : node.inputs) {
      types.push_back(id == kNoValue ? nullptr : &graph.type(id));
    }
    auto stages = stages_of(node.op, node.attributes, types);
    if (!stages) return std::move(stages).error();
    graph.values[node.outputs.front()].type = std::move(stages->output);
  }
  return graph;
}

// Small images show what values become as well as large ones, sooner.
Result<std::vector<double>> measured(const Graph& graph, std::uint64_t seed,
                                     const std::stop_token& stop) {
  constexpr std::int64_t kSize = 64;
  auto small = at_size(graph, kSize);
  const Graph& used = small ? *small : graph;
  std::vector<std::vector<TensorBytes>> samples;
  for (std::uint64_t i = 0; i < (small ? 4 : 1); ++i) {
    samples.push_back(sample_inputs(used, seed + i));
  }
  return largest_magnitudes(used, samples, stop);
}

}  // namespace

std::span<const ZooNetwork> zoo() {
  static const ZooNetwork kNetworks[] = {
      {"resnet-18", "ResNet v1 of 18 layers (He and others, 2015)", write_resnet_18, {1, 1000}},
      {"resnet-34", "ResNet v1 of 34 layers", write_resnet_34, {1, 1000}},
      {"resnet-50",
       "ResNet v1.5 of 50 layers, the stride in the 3x3 convolutions",
       write_resnet_50,
       {1, 1000}},
      {"vgg-16", "VGG of 16 layers (Simonyan and Zisserman, 2014)", write_vgg_16, {1, 1000}},
      {"mobilenet-v1",
       "MobileNet v1, width 1 (Howard and others, 2017)",
       write_mobilenet_v1,
       {1, 1000}},
      {"mobilenet-v2",
       "MobileNet v2, width 1 (Sandler and others, 2018)",
       write_mobilenet_v2,
       {1, 1000}},
      {"squeezenet-1.1", "SqueezeNet 1.1 (Iandola and others, 2016)", write_squeezenet, {1, 1000}},
      {"inception-v3",
       "Inception v3, 299x299 (Szegedy and others, 2015)",
       write_inception_v3,
       {1, 1000}},
      {"densenet-121",
       "DenseNet of 121 layers (Huang and others, 2016)",
       write_densenet_121,
       {1, 1000}},
      {"bert-base",
       "BERT-base's encoder over 128 tokens (Devlin and others, 2018)",
       write_bert_base,
       {1, 128, 768}},
  };
  return kNetworks;
}

const ZooNetwork* find_in_zoo(const std::string& name) {
  for (const ZooNetwork& network : zoo()) {
    if (name == network.name) return &network;
  }
  return nullptr;
}

Result<void> write_zoo_network(const ZooNetwork& network, std::uint64_t seed,
                               const std::string& path, ZooNumbers numbers,
                               const std::stop_token& stop) {
  NetworkWriter writer(network.name, seed);
  const NetworkWriter::Tensor output = network.write(writer);
  if (numbers == ZooNumbers::Float32) return writer.save(output, network.output, path);
  const process::ScratchFolder scratch;
  if (!scratch.there()) return Error{ErrorCode::Io, "no temporary folder can be made"};
  const std::string whole = scratch.file("float32.onnx");
  if (auto saved = writer.save(output, network.output, whole); !saved) return saved;
  auto graph = import_onnx(whole);
  // What cannot be written is known before minutes are spent on it.
  const auto writable = graph ? export_onnx(*graph, whole) : Result<void>();
  if (!graph) return std::move(graph).error();
  if (!writable) return writable;
  if (auto folded = fold_batch_norms(*graph); !folded) return folded;
  const auto largest = measured(*graph, seed, stop);
  if (!largest) return largest.error();
  auto quantized = quantize(std::move(*graph), *largest, {numbers == ZooNumbers::PowersOfTwo});
  if (!quantized) return std::move(quantized).error();
  if (stop.stop_requested()) return Error{ErrorCode::Canceled, "stopped"};
  return export_onnx(*quantized, path);
}

}  // namespace fettle::model
