// On which cores a process runs.
#pragma once

#include <sys/types.h>
#include <vector>

namespace fettle::process {

// Moves every thread that the process has now; threads started later inherit it. They have left
// other cores when this returns. Empty: nothing is changed. Failing to move is no error.
void move_process(pid_t process, const std::vector<int>& cores);

}  // namespace fettle::process
