// System-call filters: the strict list of CPU workers, and what a GPU's driver must not do.
#pragma once

#include <string>

namespace fettle::agent {

// Installs the filter on all threads of the calling process, the only one that they may
// signal from now on; "" or why it could not.
std::string install_system_call_filter();

// For a process that runs a vendor's driver: which calls that makes is unknown and changes with
// its version, so it may make all but those that start programs or processes, reach other
// processes or the network, change the file system or the machine. These fail with EPERM (the
// driver can live with it; a trap would blame the candidate). All threads; "" or why not.
std::string install_driver_filter();

}  // namespace fettle::agent
