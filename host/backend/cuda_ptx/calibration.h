// Ceilings of a CUDA device: see host/backend/calibration.h.
#pragma once

#include <vector>

#include "host/backend/calibration.h"
#include "host/space/gpu_target.h"

namespace fettle::backend::cuda_ptx {

Result<std::vector<CalibrationProgram>> cuda_calibration(const space::GpuTarget& target);

}  // namespace fettle::backend::cuda_ptx
