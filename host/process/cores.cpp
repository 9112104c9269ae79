// Cores of a process (cores.h).
#include "host/process/cores.h"

#include <sched.h>
#include <filesystem>
#include <string>

namespace fettle::process {

void move_process(pid_t process, const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  std::error_code error;
  const std::string threads = "/proc/" + std::to_string(process) + "/task";
  for (auto at = std::filesystem::directory_iterator(threads, error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    sched_setaffinity(std::stoi(at->path().filename().string()), sizeof set, &set);
  }
}

}  // namespace fettle::process
