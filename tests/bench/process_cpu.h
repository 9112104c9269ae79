// CPU time of a process and of everything it started.
#pragma once

#include <sys/types.h>

namespace fettle::bench {

// Seconds so far: of the process, its descendants, and those of theirs that have ended and were
// waited for; 0 when it is gone.
double cpu_seconds_of(pid_t root);

// The same of all children of this process that it has waited for.
double cpu_seconds_of_ended_children();

// Of the calling thread, so far.
double thread_milliseconds();

}  // namespace fettle::bench
