// Lowering: from a configuration to a Module that a back end can compile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/ir/module.h"
#include "host/space/schedule.h"
#include "host/space/task_space.h"
#include "schemas/wire/result.h"

namespace fettle::lower {

// In the order they run: what --dump-after takes.
std::vector<std::string> pass_names();

// Called after each pass with its name and what it made.
using DumpHook = std::function<void(const std::string& pass, const ir::Module& module)>;

// InvalidArgument: the schedule cannot be lowered.
Result<ir::Module> lower_schedule(const space::Schedule& schedule, const space::Target& target,
                                  const DumpHook& dump = nullptr);

// BuildError: the configuration makes no sensible program (too much code, too large a tile).
Result<ir::Module> lower_configuration(const space::TaskSpace& task,
                                       const space::Configuration& configuration,
                                       const DumpHook& dump = nullptr);

// As lower_configuration, but stops where features are read (features.h), before loops
// are unrolled: a small part of the work.
Result<ir::Module> lower_loops(const space::TaskSpace& task,
                               const space::Configuration& configuration);

}  // namespace fettle::lower
