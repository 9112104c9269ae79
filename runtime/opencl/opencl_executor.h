// Runs kernels on an OpenCL device: launches follow one another in one queue, nothing waits in
// between, and the device's own events say how long they took.
#pragma once

#include "runtime/executor.h"
#include "runtime/opencl/opencl_driver.h"

namespace fettle::runtime {

// What a launch may ask for.
struct OpenClLimits {
  std::size_t max_block[3];
  std::size_t threads_per_block;
  std::uint64_t local_bytes;  // of a work-group, what the kernel has and what the launch adds
  std::uint64_t texels;       // of an image over a buffer; 0: there are no such images
};

// Ticks are nanoseconds from the start of the first launch to the end of the last.
class OpenClExecutor final : public Executor {
 public:
  OpenClExecutor(const OpenClQueue& queue, const OpenClLimits& limits)
      : queue_(queue), limits_(limits) {}
  std::unique_ptr<LaunchSeries> make_series() override;

 private:
  friend class OpenClSeries;
  const OpenClQueue& queue_;
  OpenClLimits limits_;
};

}  // namespace fettle::runtime
