// CLBlast as a peer for products of matrices on an OpenCL device.
#pragma once

#include <CL/cl.h>
#include <memory>
#include <string>

#include "tests/bench/kernels/contender.h"
#include "tests/bench/kernels/layer.h"

namespace fettle::bench {

// The device that fettle takes, too: the first GPU, else the first. Its queue is in order. Owned.
class ClBlastDevice {
 public:
  static Result<std::unique_ptr<ClBlastDevice>> open();
  ~ClBlastDevice();
  ClBlastDevice(const ClBlastDevice&) = delete;
  ClBlastDevice& operator=(const ClBlastDevice&) = delete;

  std::string name() const;
  cl_device_id id() const { return id_; }
  cl_context context() const { return context_; }
  cl_command_queue queue() const { return queue_; }

 private:
  ClBlastDevice() = default;
  cl_device_id id_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
};

enum class SecondFactor {
  AsGiven,
  Transposed  // beforehand, where it is constant
};

// Gemm, its strided batches, or Gemv for one row; a tail is one more kernel, in place.
// Unsupported: the layer is no product of matrices (dense, batch_matmul, 1x1 convolution without
// stride, padding or groups), or its type is not float32. Layer and device outlive the peer.
Result<std::unique_ptr<Contender>> make_clblast_peer(ClBlastDevice& device, const Layer& layer,
                                                     SecondFactor second);

}  // namespace fettle::bench
