// Where no cuda.h is (cuda_side.h).
#include "tests/bench/kernels/cuda_side.h"

namespace fettle::bench {

Result<std::unique_ptr<KernelSide>> open_cuda_side(const std::string&) {
  return Error{
      ErrorCode::Unsupported, "built without CUDA: './dev setup cuda' brings its headers", {}};
}

}  // namespace fettle::bench
