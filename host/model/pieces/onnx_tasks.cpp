// From an ONNX file to tasks (onnx_tasks.h).
#include "host/model/pieces/onnx_tasks.h"

#include "host/model/onnx/import.h"
#include "host/model/passes/find_gelu.h"
#include "host/model/passes/fold_batch_norm.h"
#include "host/model/pieces/pieces.h"

namespace fettle::model {

bool is_onnx_file(const std::string& path) { return path.ends_with(".onnx"); }

Result<TaskList> load_onnx_tasks(const std::string& path,
                                 const std::map<std::string, std::int64_t>& extents) {
  OnnxOptions options;
  options.extents = extents;
  auto graph = import_onnx(path, options);
  if (!graph) return std::move(graph).error();
  if (auto folded = fold_batch_norms(*graph); !folded) return std::move(folded).error();
  find_gelus(*graph);
  return tasks_of(path, pieces_of(*graph));
}

}  // namespace fettle::model
