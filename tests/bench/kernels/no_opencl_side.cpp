// Where no CLBlast or no OpenCL is (opencl_side.h).
#include "tests/bench/kernels/opencl_side.h"

namespace fettle::bench {

Result<std::unique_ptr<KernelSide>> open_opencl_side(unsigned) {
  return Error{
      ErrorCode::Unsupported, "built without OpenCL or CLBlast: './dev setup' installs them", {}};
}

}  // namespace fettle::bench
