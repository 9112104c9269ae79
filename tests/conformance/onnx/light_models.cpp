// ONNX's larger test models before the importer, the graph passes and the reference: well-known
// networks whose weights are made by operators.
//
//   fettle-onnx-light-models FOLDER [MODEL…]     FOLDER: onnx/backend/test/data/light
//
// Each is light_MODEL.onnx with light_MODEL_output_0.pb, and is run, after the passes, on what
// ONNX's own runner gives: element i of an input of n is i / n. Exit status 1 where one is refused
// or does not agree.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>

#include "host/model/graph/node_stages.h"
#include "host/model/onnx/import.h"
#include "host/model/passes/find_activations.h"
#include "host/model/passes/fold_batch_norm.h"
#include "tests/conformance/onnx/stored_tensors.h"

namespace {

using namespace fettle;
using namespace fettle::model;

TensorBytes ramp(const TensorType& type) {
  std::vector<float> values(static_cast<std::size_t>(type.elements()));
  const auto n = static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<double>(i) / n);
  }
  std::vector<std::uint8_t> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return std::make_shared<const std::vector<std::uint8_t>>(std::move(bytes));
}

// "" when its output is as stored.
std::string evaluated(const Graph& graph, const OnnxTensor& expected) {
  std::vector<TensorBytes> given;
  for (const ValueId id : graph.inputs) {
    if (graph.type(id).scalar != ir::Scalar::Float32) return "an input is not float32";
    given.push_back(ramp(graph.type(id)));
  }
  const auto results = evaluate_graph(graph, given);
  if (!results) return results.error().message;
  return compared(graph.type(graph.outputs.front()), *results->front(), expected);
}

std::string run(const std::filesystem::path& model, const OnnxTensor& expected) {
  auto graph = import_onnx(model.string());
  if (!graph) return graph.error().message;
  if (auto folded = fold_batch_norms(*graph); !folded) return folded.error().message;
  find_activations(*graph);
  return evaluated(*graph, expected);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: fettle-onnx-light-models FOLDER [MODEL...]\n");
    return 2;
  }
  const std::set<std::string> wanted(argv + 2, argv + argc);
  std::set<std::filesystem::path> models;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    if (entry.path().extension() == ".onnx") models.insert(entry.path());
  }
  std::size_t agree = 0, all = 0;
  for (const std::filesystem::path& model : models) {
    const std::string stem = model.stem().string(), name = stem.substr(stem.find('_') + 1);
    if (!wanted.empty() && !wanted.contains(name)) continue;
    ++all;
    const auto expected = stored_tensor(model.parent_path() / (stem + "_output_0.pb"));
    const auto start = std::chrono::steady_clock::now();
    const std::string words = expected ? run(model, *expected) : "it has no stored output";
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    agree += words.empty();
    std::printf("%-16s %s (%.1f s)\n", name.c_str(), words.empty() ? "agrees" : words.c_str(),
                took.count());
    std::fflush(stdout);
  }
  std::printf("%zu of %zu models agree with their stored outputs\n", agree, all);
  return all > 0 && agree == all ? 0 : 1;
}
