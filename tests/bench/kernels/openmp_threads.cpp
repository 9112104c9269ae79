// Pinning OpenMP's threads (openmp_threads.h).
#include "tests/bench/kernels/openmp_threads.h"

#include <omp.h>
#include <sched.h>

#include <atomic>

namespace fettle::bench {

unsigned pin_openmp_threads(const std::vector<std::uint32_t>& cores) {
  const int wanted = static_cast<int>(cores.size());
  omp_set_dynamic(0);
  omp_set_num_threads(wanted);
  std::atomic<unsigned> pinned{0};
#pragma omp parallel num_threads(wanted)
  {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cores[static_cast<std::size_t>(omp_get_thread_num())], &set);
    // A worker that the kernel refuses to pin still runs, only less quietly.
    sched_setaffinity(0, sizeof set, &set);
    ++pinned;
  }
  return pinned;
}

}  // namespace fettle::bench
