// Lowering: from a configuration to a Module that a back end can compile, by the passes that the
// back end lists.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "host/ir/module.h"
#include "host/space/schedule.h"
#include "host/space/task_space.h"
#include "schemas/wire/result.h"

namespace fettle::lower {

// One step over each function of a module. InvalidArgument: the function cannot be lowered so.
struct Pass {
  const char* name;
  Result<ir::Function> (*run)(ir::Function function);
};

// A pass over a function's body, as one of functions.
template <auto pass>
Result<ir::Function> on_body(ir::Function function) {
  Result<ir::Stmt> body = pass(function.body);
  if (!body) return std::move(body).error();
  function.body = std::move(*body);
  return function;
}

// How a back end lowers. Inlining and packing are steps of the schedule and done before the first
// pass; build_loops, which makes the module out of it, comes first and is not listed.
struct Lowering {
  std::span<const Pass> passes;
  int threads = 1;  // that scratch per thread is laid out for
};

// In the order they run: what --dump-after takes.
std::vector<std::string> pass_names(std::span<const Pass> passes);

// Called after each pass with its name and what it made.
using DumpHook = std::function<void(const std::string& pass, const ir::Module& module)>;

// `last`: the name of the pass to stop after, for who reads what a run costs: functions of prepare
// launches stay as build_loops made them; null: all passes run. InvalidArgument: the schedule
// cannot be lowered.
Result<ir::Module> lower_schedule(const space::Schedule& schedule, const Lowering& how,
                                  const DumpHook& dump = nullptr, const char* last = nullptr);

// BuildError: the configuration makes no sensible program (too much code, too large a tile).
Result<ir::Module> lower_configuration(const space::TaskSpace& task,
                                       const space::Configuration& configuration,
                                       const Lowering& how, const DumpHook& dump = nullptr,
                                       const char* last = nullptr);

}  // namespace fettle::lower
