// A CPU's lowering: its list of passes.
#pragma once

#include <span>

#include "host/lower/lower.h"
#include "host/space/cpu_target.h"
#include "host/space/sketches/sketches.h"

namespace fettle::lower {

std::span<const Pass> cpu_passes();

// As lower.h's, by the CPU's passes.
Result<ir::Module> lower_schedule(const space::Schedule& schedule, const space::CpuTarget& target,
                                  const DumpHook& dump = nullptr);
Result<ir::Module> lower_configuration(const space::CpuSpace& task,
                                       const space::Configuration& configuration,
                                       const DumpHook& dump = nullptr);
// As lower_configuration, but stops where features are read (features.h), before loops
// are unrolled: a small part of the work.
Result<ir::Module> lower_loops(const space::CpuSpace& task,
                               const space::Configuration& configuration);

}  // namespace fettle::lower
