// Lowering: from a configuration to a Module that a back end can compile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/ir/module.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"
#include "host/space/target.h"
#include "host/space/workload.h"
#include "schemas/wire/result.h"

namespace fettle::lower {

// In the order they run: what --dump-after takes.
std::vector<std::string> pass_names();

// Called after each pass with its name and what it made.
using DumpHook = std::function<void(const std::string& pass, const ir::Module& module)>;

// InvalidArgument: the schedule cannot be lowered.
Result<ir::Module> lower_schedule(const space::Schedule& schedule, const space::Target& target,
                                  const DumpHook& dump = nullptr);

// The configuration must be one of make_space(workload, target). BuildError: it
// makes no sensible program (too much code, too large a tile).
Result<ir::Module> lower_workload(const space::Workload& workload, const space::Target& target,
                                  const space::Configuration& configuration,
                                  const DumpHook& dump = nullptr);

// As lower_workload, but stops where features are read (features.h), before loops
// are unrolled: a small part of the work.
Result<ir::Module> lower_loops(const space::Workload& workload, const space::Target& target,
                               const space::Configuration& configuration);

}  // namespace fettle::lower
