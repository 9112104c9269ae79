// Resident memory of a process and of everything it started.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fettle::bench {

struct ProcessMemory {
  pid_t pid = 0;
  std::string name;
  std::uint64_t resident_bytes = 0;  // VmRSS: pages shared between the processes count in each
};

// The process first, then its descendants; empty when it is gone.
std::vector<ProcessMemory> memory_of(pid_t root);

}  // namespace fettle::bench
