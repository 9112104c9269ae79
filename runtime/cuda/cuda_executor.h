// Runs kernels on a CUDA GPU: launches follow one another in one stream, nothing waits in
// between, and the GPU's own clock says how long they took.
#pragma once

#include <vector>

#include "runtime/cuda/cuda_image.h"
#include "runtime/executor.h"

namespace fettle::runtime {

// What a launch may ask for.
struct CudaLimits {
  std::uint32_t max_block[3], max_grid[3];
  std::uint32_t threads_per_block;
  std::uint32_t shared_bytes;          // of a block, static and dynamic together
  std::uint32_t shared_bytes_unasked;  // dynamic above this a kernel has to ask for
};

// Ticks are nanoseconds between events.
class CudaExecutor final : public Executor {
 public:
  static Result<std::unique_ptr<CudaExecutor>> make(const CudaDriver& driver, CUstream stream,
                                                    const CudaLimits& limits);
  std::unique_ptr<LaunchSeries> make_series() override;

 private:
  friend class CudaSeries;
  CudaExecutor(const CudaDriver& driver, CUstream stream, const CudaLimits& limits)
      : driver_(driver), stream_(stream), limits_(limits) {}

  const CudaDriver& driver_;
  CUstream stream_;
  CudaLimits limits_;
  std::vector<CUevent> events_;  // kept until the process ends
};

}  // namespace fettle::runtime
