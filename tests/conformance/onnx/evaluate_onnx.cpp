// A network by the reference evaluator, for comparing with others.
//
//   fettle-evaluate-onnx MODEL.onnx INPUT OUTPUT [--passes]
//
// INPUT: the raw elements of its one input; OUTPUT: those of its outputs, one after the other.
// --passes: after the graph passes.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "host/model/graph/node_stages.h"
#include "host/model/onnx/import.h"
#include "host/model/passes/passes.h"

namespace {

using namespace fettle;
using namespace fettle::model;

int fail(const std::string& what) {
  std::fprintf(stderr, "fettle-evaluate-onnx: %s\n", what.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return fail("usage: fettle-evaluate-onnx MODEL.onnx INPUT OUTPUT [--passes]");
  auto graph = import_onnx(argv[1]);
  if (!graph) return fail(graph.error().text());
  if (argc > 4 && std::string(argv[4]) == "--passes") {
    if (auto passed = run_passes(*graph); !passed) return fail(passed.error().text());
  }
  std::ifstream file(argv[2], std::ios::binary);
  const std::vector<std::uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
  if (graph->inputs.size() != 1) return fail("the network has not one input");
  const TensorType& type = graph->type(graph->inputs.front());
  if (static_cast<std::int64_t>(bytes.size()) != type.bytes()) {
    return fail("its input is " + to_string(type) + ", the file has " +
                std::to_string(bytes.size()) + " bytes");
  }
  const auto results =
      evaluate_graph(*graph, {std::make_shared<const std::vector<std::uint8_t>>(bytes)});
  if (!results) return fail(results.error().text());
  std::ofstream out(argv[3], std::ios::binary);
  for (const TensorBytes& result : *results) {
    out.write(reinterpret_cast<const char*>(result->data()),
              static_cast<std::streamsize>(result->size()));
  }
  return out.flush() ? 0 : fail(std::string("cannot write ") + argv[3]);
}
