// This machine's OpenCL device: our kernels beside CLBlast's.
#pragma once

#include "tests/bench/kernels/kernel_side.h"

namespace fettle::bench {

// threads: cores that the device may use where it is a CPU. Unsupported: built without CLBlast or
// OpenCL.
Result<std::unique_ptr<KernelSide>> open_opencl_side(unsigned threads);

}  // namespace fettle::bench
