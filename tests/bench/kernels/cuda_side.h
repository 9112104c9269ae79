// This machine's CUDA device: our kernels beside cuDNN's and cuBLAS's.
#pragma once

#include "tests/bench/kernels/kernel_side.h"

namespace fettle::bench {

// torch: a Python that has PyTorch, which brings both libraries. NotFound: there is no CUDA device
// here. Unsupported: built without CUDA, or that Python cannot use the device.
Result<std::unique_ptr<KernelSide>> open_cuda_side(const std::string& torch);

}  // namespace fettle::bench
