// Signal handlers of a worker: they write the death note into the status page
// and end the process.
#pragma once

#include "agent/measure/status_page.h"

namespace fettle::agent {

// The exit status of a worker whose death note is complete.
inline constexpr int kFaultExit = 113;

// For SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS and SIGABRT, on a stack of their own.
// statm_fd: /proc/self/statm, opened before the sandbox closes. Once per process.
void install_fault_handlers(StatusPage* status, int statm_fd);

}  // namespace fettle::agent
