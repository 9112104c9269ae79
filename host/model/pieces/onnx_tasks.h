// A network in an ONNX file, and its tasks.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "host/model/graph/graph.h"
#include "host/model/pieces/accelerated.h"
#include "host/model/task_list.h"
#include "schemas/wire/result.h"

namespace fettle::model {

bool is_onnx_file(const std::string& path);  // by its name

// Imported, with batch norms folded and activations found (find_activations.h). `extents`: those
// that the model leaves open, by name. `beside_accelerator`: halves are rounded up, as accelerators
// do, by whoever computes (round_halves_up). `warn`: as OnnxOptions has it. Errors as
// import_onnx()'s.
Result<Graph> load_onnx_graph(const std::string& path,
                              const std::map<std::string, std::int64_t>& extents,
                              bool beside_accelerator = false,
                              const std::function<void(const std::string&)>& warn = nullptr);

// Of that graph, tails fused (pieces.h); with an accelerator those that it does. Errors as
// load_onnx_graph()'s.
Result<TaskList> load_onnx_tasks(const std::string& path,
                                 const std::map<std::string, std::int64_t>& extents,
                                 const Accelerates& accelerates = nullptr,
                                 const std::function<void(const std::string&)>& warn = nullptr);

}  // namespace fettle::model
