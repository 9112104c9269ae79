// Tasks of GPUs, in whatever language their programs are.
#pragma once

#include <memory>

#include "host/backend/backend.h"
#include "host/backend/gpu_language.h"
#include "host/space/sketches/gpu_sketches.h"

namespace fettle::backend {

// `language` outlives it.
std::unique_ptr<const Task> make_gpu_task(space::GpuSpace task, const GpuLanguage& language);

}  // namespace fettle::backend
