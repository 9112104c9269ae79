// From an ONNX file to a graph and its tasks (onnx_tasks.h).
#include "host/model/pieces/onnx_tasks.h"

#include <algorithm>
#include <string_view>

#include "host/model/onnx/import.h"
#include "host/model/passes/passes.h"
#include "host/model/passes/quantized.h"
#include "host/model/pieces/bindings.h"

namespace fettle::model {

bool is_onnx_file(const std::string& path) {
  constexpr std::string_view kEnd = ".onnx";
  return path.size() >= kEnd.size() &&
         std::equal(kEnd.begin(), kEnd.end(), path.end() - std::ssize(kEnd),
                    [](char end, char c) { return end == (c >= 'A' && c <= 'Z' ? c | 32 : c); });
}

Result<Graph> load_onnx_graph(const std::string& path, const OnnxOptions& options,
                              bool beside_accelerator) {
  auto graph = import_onnx(path, options);
  if (!graph) return graph;
  if (auto passed = run_passes(*graph); !passed) return std::move(passed).error();
  if (beside_accelerator) round_halves_up(*graph);
  return graph;
}

Result<TaskList> load_onnx_tasks(const std::string& path, const OnnxOptions& options,
                                 const Accelerates& accelerates) {
  auto graph = load_onnx_graph(path, options, accelerates != nullptr);
  if (!graph) return std::move(graph).error();
  auto bindings = bind(*graph, pieces_of(*graph, accelerates));
  if (!bindings) return Error{bindings.error().code, path + ": " + bindings.error().message};
  return tasks_of(path, *bindings, accelerates != nullptr);
}

}  // namespace fettle::model
