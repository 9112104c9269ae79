// /proc/PID/stat of a family of processes.
#include "tests/bench/process_cpu.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/bench/process_memory.h"

namespace fettle::bench {

double cpu_seconds_of(pid_t root) {
  double ticks = 0;
  for (const ProcessMemory& process : memory_of(root)) {
    std::ifstream file("/proc/" + std::to_string(process.pid) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    // From field 3 on; 14 to 17 are the times: its own, and of the children it waited for.
    std::istringstream rest(text.substr(name_end + 2));
    std::string field;
    for (int i = 3; i < 14; ++i) rest >> field;
    for (int i = 14; i <= 17; ++i) {
      double value = 0;
      rest >> value;
      ticks += value;
    }
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double cpu_seconds_of_ended_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double thread_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) * 1e-6;
}

}  // namespace fettle::bench
