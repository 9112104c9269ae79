// The strict system-call allow-list of CPU workers.
#pragma once

#include <string>

namespace fettle::agent {

// Installs the filter on all threads of the process; "" or why it could not.
std::string install_system_call_filter();

}  // namespace fettle::agent
