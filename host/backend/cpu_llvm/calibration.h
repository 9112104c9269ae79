// Ceilings of a CPU: see host/backend/calibration.h.
#pragma once

#include <vector>

#include "host/backend/calibration.h"
#include "host/space/cpu_target.h"

namespace fettle::backend::cpu_llvm {

Result<std::vector<CalibrationProgram>> cpu_calibration(const space::CpuTarget& target);

}  // namespace fettle::backend::cpu_llvm
