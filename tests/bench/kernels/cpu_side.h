// This machine's CPU: our kernels beside oneDNN's, and OpenBLAS's for dense layers.
#pragma once

#include "tests/bench/kernels/kernel_side.h"

namespace fettle::bench {

// threads: of both sides, 0: one per core. why: measure the peak that TimeSplit needs. torch: a
// Python that has PyTorch, one more peer; "": none. Pins OpenMP's threads to the device's cores.
Result<std::unique_ptr<KernelSide>> open_cpu_side(unsigned threads, bool why,
                                                  const std::string& torch);

}  // namespace fettle::bench
