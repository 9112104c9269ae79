// System-call filters: the strict list of CPU workers, and what a GPU's driver must not do.
#pragma once

#include <cstdint>
#include <string>

namespace fettle::agent {

// Addresses from begin to before end; empty: none.
struct Addresses {
  std::uintptr_t begin = 0, end = 0;
};

// Where code is, for the list of a CPU worker.
struct CodePlaces {
  Addresses arena;  // memory becomes executable here only (runtime/cpu/code_memory.h)
  Addresses own;    // the program's own image, from its first byte to the end of its code
};

// Installs the filter on all threads of the calling process, the only one that they may
// signal from now on; "" or why it could not. A forbidden call raises SIGSYS.
std::string install_system_call_filter(const CodePlaces& places);

// For a process that runs a vendor's driver: which calls that makes is unknown and changes with
// its version, so it may make all but those that reach other processes, the network or the
// machine, or get round this filter; without `builds` also none that starts programs or processes
// or changes the file system. These fail with EPERM (the driver can live with it; a trap would
// blame the candidate). All threads; "" or why not.
std::string install_driver_filter(bool builds);

}  // namespace fettle::agent
