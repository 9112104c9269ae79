// The disposable process that owns one device.
#pragma once

#include "agent/measure/status_page.h"
#include "schemas/device_generated.h"

namespace fettle::agent {

// Serves requests from `socket` until the supervisor closes it: opens the device,
// closes the sandbox behind itself, says Ready, then one outcome per request.
// Returns the process' exit status. May instead end the process at any moment
// with a death note in `status`.
int run_worker(const wire::DeviceInfoT& info, int socket, StatusPage* status);

// Exit statuses beside 0 and kFaultExit.
inline constexpr int kCannotOpenExit = 114;  // the device; said in the log
inline constexpr int kTaintedExit =
    115;  // the trial's outcome was sent; a fresh process serves the next

}  // namespace fettle::agent
