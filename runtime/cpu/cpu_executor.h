// Runs launches of CPU images: each is a parallel loop that pinned threads share.
#pragma once

#include <algorithm>

#include "runtime/cpu/thread_pool.h"
#include "runtime/executor.h"

namespace fettle::runtime {

// Ticks are nanoseconds of CLOCK_MONOTONIC_RAW.
class CpuExecutor final : public Executor {
 public:
  // A thread per core, the caller among them (thread_pool.h).
  explicit CpuExecutor(const std::vector<std::uint32_t>& cores)
      : CpuExecutor(cores, static_cast<std::uint32_t>(cores.size())) {}
  // So many threads, on those cores; on none of their own where `cores` is empty.
  CpuExecutor(const std::vector<std::uint32_t>& cores, std::uint32_t threads)
      : pool_(cores, threads) {}

  ThreadPool& pool() { return pool_; }
  // Of the launches made from now on: 1 to pool().size(), which is taken for more.
  void use_threads(std::uint32_t threads) { threads_ = std::min(threads, pool_.size()); }
  std::unique_ptr<LaunchSeries> make_series() override;

 private:
  ThreadPool pool_;
  std::uint32_t threads_ = 1;
};

}  // namespace fettle::runtime
