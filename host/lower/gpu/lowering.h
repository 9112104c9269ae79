// A GPU's lowering: its list of passes.
#pragma once

#include <span>

#include "host/lower/lower.h"
#include "host/space/gpu_target.h"
#include "host/space/sketches/gpu_sketches.h"

namespace fettle::lower {

std::span<const Pass> gpu_passes();

// As lower.h's, by the GPU's passes. BuildError also: the device cannot launch it (too many
// threads in a block, too much memory that a block shares, too long a grid).
Result<ir::Module> lower_gpu_configuration(const space::GpuSpace& task,
                                           const space::Configuration& configuration,
                                           const DumpHook& dump = nullptr);
// Stops where features are read (features.h), before loops are unrolled.
Result<ir::Module> lower_gpu_loops(const space::GpuSpace& task,
                                   const space::Configuration& configuration);

}  // namespace fettle::lower
