// Tasks of the accelerator.
#pragma once

#include <memory>

#include "host/backend/backend.h"
#include "host/backend/vta/design_target.h"

namespace fettle::vta::host {

// Unsupported, in one line: what of the DAG the accelerator cannot do, or that its buffers do not
// fit the device's memory.
Result<std::unique_ptr<const backend::Task>> open_task(const space::ComputeDag& dag,
                                                       DesignTarget target);

}  // namespace fettle::vta::host
