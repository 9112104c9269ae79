// NVRTC, NVIDIA's compiler of CUDA C++ at run time, where this machine has it: loaded when it is
// wanted, so that fettle is built and works without.
#pragma once

#include <string>
#include <vector>

#include "host/space/gpu_target.h"
#include "schemas/wire/result.h"

namespace fettle::backend::cuda_ptx {

struct Ptx {
  std::string text;
  std::vector<std::string> names;  // of the kernels asked for, as the PTX calls them
};

// `options`: words for the compiler, white space between. `kernels`: as C++ names them, such as
// "product<16>". Unsupported: there is no NVRTC (FETTLE_NVRTC names the library), or it writes PTX
// that the device's driver is too old for. BuildError: it refuses the text, in its words.
Result<Ptx> compile_cuda(const std::string& text, const std::string& file,
                         const std::string& options, const std::vector<std::string>& kernels,
                         const space::GpuTarget& target);

}  // namespace fettle::backend::cuda_ptx
