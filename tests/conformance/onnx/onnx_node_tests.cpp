// ONNX's own tests of operators, before the importer and the reference.
//
//   fettle-onnx-node-tests FOLDER [--list]     FOLDER: onnx/backend/test/data/node
//
// Each test is a model of one operator with inputs and outputs, compared as ONNX does. Whole-number
// inputs count as known, as constants do in networks. Prints how many of the tests of known
// operators pass, and why the others do not; --list: each one.
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "host/model/graph/node_stages.h"
#include "host/model/onnx/import.h"
#include "tests/conformance/onnx/stored_tensors.h"

namespace {

using namespace fettle;
using namespace fettle::model;

std::vector<OnnxTensor> tensors_of(const std::filesystem::path& folder, const std::string& kind) {
  std::vector<OnnxTensor> tensors;
  while (auto tensor =
             stored_tensor(folder / (kind + "_" + std::to_string(tensors.size()) + ".pb"))) {
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

// "" when it passes.
std::string run(const std::filesystem::path& folder, const onnx::ModelProto& model) {
  const auto data = folder / "test_data_set_0";
  const auto inputs = tensors_of(data, "input"), outputs = tensors_of(data, "output");
  if (outputs.empty()) return "it has no stored output";
  OnnxOptions options;
  std::map<std::string, TensorBytes> values;
  for (int i = 0; i < model.graph().input_size() && i < static_cast<int>(inputs.size()); ++i) {
    const OnnxTensor& input = inputs[static_cast<std::size_t>(i)];
    const std::string& name = model.graph().input(i).name();
    if (input.bytes.empty()) return "its stored input '" + name + "' cannot be read";
    const bool whole = !ir::DataType{input.type.scalar}.is_float();
    const bool parameter = (i > 0 && input.type.shape.size() <= 1) ||
                           (whole && input.type.scalar == ir::Scalar::Int64);
    if (parameter) options.known_inputs[name] = {input.type, input.bytes};
    values[name] = std::make_shared<const std::vector<std::uint8_t>>(input.bytes);
  }
  const auto graph = import_onnx((folder / "model.onnx").string(), options);
  if (!graph) {
    const std::string& text = graph.error().message;
    return text.substr(text.find("model.onnx: ") + 12);
  }
  std::vector<TensorBytes> given;
  for (const ValueId id : graph->inputs) given.push_back(values[graph->values[id].name]);
  const auto results = evaluate_graph(*graph, given);
  if (!results) return results.error().message;
  if (results->size() != outputs.size()) {
    return "output count " + std::to_string(results->size()) + ", stored are " +
           std::to_string(outputs.size());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string words = compared(graph->type(graph->outputs[i]), *(*results)[i], outputs[i]);
    if (!words.empty()) return "output " + std::to_string(i) + " " + words;
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: fettle-onnx-node-tests FOLDER [--list] [--least N]\n");
    return 2;
  }
  bool list = false;
  std::size_t least = 1;
  for (int i = 2; i < argc; ++i) {
    if (std::string(argv[i]) == "--list") list = true;
    if (std::string(argv[i]) == "--least" && i + 1 < argc) least = std::stoul(argv[++i]);
  }
  std::set<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
    folders.insert(entry.path());
  std::size_t known = 0, passed = 0, wrong = 0;
  std::set<std::string> operators;
  for (const auto& folder : folders) {
    onnx::ModelProto model;
    if (!parse_file(folder / "model.onnx", model)) continue;
    bool ours = true;
    for (const auto& node : model.graph().node()) {
      ours &= (node.domain().empty() || node.domain() == "ai.onnx") && find_reader(node.op_type());
    }
    if (!ours) continue;
    for (const auto& node : model.graph().node()) operators.insert(node.op_type());
    ++known;
    const std::string words = run(folder, model);
    passed += words.empty();
    wrong += words.rfind("output ", 0) == 0;
    if (list || !words.empty()) {
      std::printf("%-6s %s%s%s\n", words.empty() ? "passed" : "failed", folder.filename().c_str(),
                  words.empty() ? "" : ": ", words.c_str());
    }
  }
  std::printf("%zu of %zu tests pass, of %zu operators; %zu are refused, %zu wrong\n", passed,
              known, operators.size(), known - passed - wrong, wrong);
  return wrong || passed < least ? 1 : 0;
}
