// The tasks of a network in an ONNX file.
#pragma once

#include <map>
#include <string>

#include "host/model/task_list.h"
#include "schemas/wire/result.h"

namespace fettle::model {

bool is_onnx_file(const std::string& path);  // by its name

// Batch norms folded, tails fused (pieces.h). `extents`: those that the model leaves open, by name.
// Errors as import_onnx()'s.
Result<TaskList> load_onnx_tasks(const std::string& path,
                                 const std::map<std::string, std::int64_t>& extents);

}  // namespace fettle::model
