// Cores (cores.h).
#include "host/app/cores.h"

#include <sched.h>
#include <algorithm>
#include <filesystem>
#include <string>

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

void pin_process(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) CPU_SET(core, &set);
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    sched_setaffinity(std::stoi(thread.path().filename().string()), sizeof set, &set);
  }
}

std::size_t builder_count(const std::vector<int>& free_cores) {
  const std::size_t cores = free_cores.empty() ? usable_cores().size() : free_cores.size();
  return std::max<std::size_t>(1, cores);
}

}  // namespace fettle::app
