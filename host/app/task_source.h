// What commands tune or list: a network by name, an ONNX file, a workloads file, a kernel.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "host/model/onnx/import.h"
#include "host/model/pieces/accelerated.h"
#include "host/model/task_list.h"
#include "host/space/target.h"

namespace fettle::app {

struct TaskSource {
  std::string what;
  model::OnnxOptions onnx;  // of an ONNX file
};

// --extent and --constant, which say what an ONNX file leaves open.
void add_onnx_options(CLI::App& command, TaskSource& source);

// The positional argument and those options; the former, for the caller to add to.
CLI::Option* add_task_source(CLI::App& command, TaskSource& source);
// The same of commands that take models alone: `help` says which.
CLI::Option* add_model_source(CLI::App& command, TaskSource& source, const std::string& help);

// Warns of entries that cannot be tuned. With an accelerator: what of an ONNX file it does; lists
// of workloads are tuned as they are. Unsupported: none can.
Result<model::TaskList> load_tasks(const TaskSource& source,
                                   const model::Accelerates& accelerates = nullptr);

// What of a network an accelerator computes, in words.
inline constexpr const char* kAccelerated =
    "it does convolutions of int8 whose scales are powers of two and whose channels are whole "
    "blocks (`fettle quantize --power-of-two` makes scales so)";

// What that back end's devices do beside a CPU; null where they are no accelerators.
model::Accelerates accelerates_of(const space::Target& target);

}  // namespace fettle::app
