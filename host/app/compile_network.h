// An ONNX file compiled for a target: what the commands that do so share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "host/app/network_target.h"
#include "host/app/task_source.h"
#include "host/network/linker.h"

namespace fettle::app {

struct CompileOptions {
  TaskSource source;
  NetworkTargetOptions target;
  unsigned in_place = 0;  // over 1: the best of so many schedules of a layer, timed on the device
  bool quiet = false;
};

struct CompiledNetwork {
  network::LinkedNetwork linked;
  std::string device_key;  // "" without records
};

// All but the source.
void add_compile_options(CLI::App& app, CompileOptions& options);

// Whether the command can do with that target; asked before anything is compiled.
using TargetCheck = Result<void> (*)(const space::Target&);

// InvalidArgument: no ONNX file; Canceled: Ctrl-C; what the check says (null: none), importing,
// network_target() and compile_pieces().
Result<CompiledNetwork> compile_network(const CompileOptions& options, TargetCheck check = nullptr);

}  // namespace fettle::app
