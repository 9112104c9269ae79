// The strict system-call allow-list of CPU workers.
#pragma once

#include <string>

namespace fettle::agent {

// Installs the filter on all threads of the calling process, the only one that they may
// signal from now on; "" or why it could not.
std::string install_system_call_filter();

}  // namespace fettle::agent
