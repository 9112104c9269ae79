// How a device's worker begins its life, by its kind's row.
#pragma once

#include <string>

#include "agent/worker/worker_terms.h"
#include "schemas/device_generated.h"

namespace fettle::agent {

// In a fresh child of the nursery: is the device's worker, or executes its program (the file
// `worker_gpu`; "": the embedded one). Returns the exit status.
int start_worker(const wire::DeviceInfoT& info, const std::string& worker_gpu, int socket,
                 int status_memory, const WorkerTerms& terms = {});

}  // namespace fettle::agent
