// A network in an ONNX file, and its tasks.
#pragma once

#include <string>

#include "host/model/graph/graph.h"
#include "host/model/onnx/import.h"
#include "host/model/pieces/accelerated.h"
#include "host/model/task_list.h"
#include "schemas/wire/result.h"

namespace fettle::model {

bool is_onnx_file(const std::string& path);  // by its name

// Imported, with batch norms folded and activations found (find_activations.h).
// `beside_accelerator`: halves are rounded up, as accelerators do, by whoever computes
// (round_halves_up). Errors as import_onnx()'s.
Result<Graph> load_onnx_graph(const std::string& path, const OnnxOptions& options = {},
                              bool beside_accelerator = false);

// Of that graph, tails fused (pieces.h); with an accelerator those that it does. Errors as
// load_onnx_graph()'s.
Result<TaskList> load_onnx_tasks(const std::string& path, const OnnxOptions& options = {},
                                 const Accelerates& accelerates = nullptr);

}  // namespace fettle::model
