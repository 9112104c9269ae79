// Ceilings of a GPU: see host/backend/calibration.h.
#pragma once

#include <vector>

#include "host/backend/calibration.h"
#include "host/ir/module.h"
#include "host/space/gpu_target.h"

namespace fettle::backend {

using MakeProgram = Result<wire::ProgramT>(const ir::Module& module,
                                           const space::GpuTarget& target);

Result<std::vector<CalibrationProgram>> gpu_calibration(const space::GpuTarget& target,
                                                        MakeProgram* make_program);

}  // namespace fettle::backend
