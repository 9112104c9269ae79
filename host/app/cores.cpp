// Cores (cores.h).
#include "host/app/cores.h"

#include <sched.h>
#include <unistd.h>
#include <algorithm>

#include "host/process/cores.h"

namespace fettle::app {

std::vector<int> usable_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

void pin_process(const std::vector<int>& cores) { process::move_process(getpid(), cores); }

std::size_t builder_count(const std::vector<int>& free_cores) {
  return free_cores.empty() ? usable_cores().size() : free_cores.size() + 1;
}

}  // namespace fettle::app
