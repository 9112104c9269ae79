// An .xclbin with our core as its kernel, written field by field: what XRT needs to open and start
// it.
#pragma once

#include <string>

#include "schemas/wire/codec.h"

namespace fettle::test {

struct XclbinParts {
  std::string kernel;                            // xrt_kernel_name(design)
  std::string part = "zynq:xc7z020:clg400:-1:";  // as the metadata of Vitis say it
  std::string platform = "fettle_stand_in";
  std::uint16_t clock_mhz = 100;  // of its kernels
  Bytes bitstream = {};           // empty: without one
};
Bytes write_xclbin(const XclbinParts& parts);

// Configuration data of a die with hardly a frame.
Bytes configuration_data(std::uint32_t idcode);

}  // namespace fettle::test
