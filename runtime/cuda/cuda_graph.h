// Many launches as one piece that the GPU goes through by itself: what the CPU takes to start a
// launch, several microseconds, then stands between none of them.
#pragma once

#include <functional>
#include <memory>

#include "runtime/cuda/cuda_driver.h"

namespace fettle::runtime {

class CudaGraph {
 public:
  // Of what `launch_all` starts in that stream, which is not run now. Unsupported: this driver
  // has no graphs (CUDA before 10.1).
  static Result<std::unique_ptr<CudaGraph>> capture(
      const CudaDriver& driver, CUstream stream, const std::function<Result<void>()>& launch_all);
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  Result<void> launch() const;

 private:
  CudaGraph(const CudaDriver& driver, CUstream stream) : driver_(driver), stream_(stream) {}
  const CudaDriver& driver_;
  CUstream stream_;
  CUgraphExec ready_ = nullptr;
};

}  // namespace fettle::runtime
