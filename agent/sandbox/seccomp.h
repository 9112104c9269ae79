// System-call filters: the strict list of CPU workers, and what a GPU's driver must not do.
#pragma once

#include <cstdint>
#include <string>

namespace fettle::agent {

// Addresses from begin to before end; empty: none.
struct Addresses {
  std::uintptr_t begin = 0, end = 0;
};

// Of madvise's advice: from MADV_HWPOISON on, root takes pages from the machine, whoever has them.
inline constexpr std::uint64_t kFirstPoison = 100;

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
// machine, change what files are beside their contents, or get round this filter; without `builds`
// also none that starts programs or processes or changes folders. Contents of files are
// confine_files' (file_access.h). Limits and scheduling are the process' own to change, by its own
// number or 0: of its threads those but the first are refused, as other processes are. Refusals are
// EPERM (the driver can live with it; a trap would blame the candidate). All threads; "" or why
// not.
std::string install_driver_filter(bool builds);

}  // namespace fettle::agent
