// The disposable process that owns one device.
#pragma once

#include "agent/device/worker_row.h"
#include "agent/worker/worker_terms.h"

namespace fettle::agent {

// Serves requests from `socket` until the supervisor closes it: opens the device,
// closes the sandbox behind itself, says Ready, then one outcome per request; or says
// why the device cannot be opened or its candidates not held. Returns the process' exit status. May
// instead end the process at any moment with a death note in the status page. `row` is of the
// device's kind.
int run_worker(const WorkerRow& row, const wire::DeviceInfoT& info, int socket, int status_memory,
               const WorkerTerms& terms);

// Says so instead of Ready; returns the exit status.
int refuse_device(int socket, const Error& why);

// Exit statuses beside 0 and kFaultExit.
inline constexpr int kCannotOpenExit = 114;  // the device; why was said
inline constexpr int kTaintedExit =
    115;  // the trial's outcome was sent; a fresh process serves the next

}  // namespace fettle::agent
