// What tests know of the device that xrt_shim.cpp plays for XRT: libxrt_core.so.2 over fpga/sim, in
// a folder that XILINX_XRT names.
#pragma once

#include <cstdint>

namespace fettle::test {

// Where its memory begins: beyond 4 GiB, as on Alveo's cards.
inline constexpr std::uint64_t kXrtShimMemory = std::uint64_t{4} << 32;

// Runs of so many instructions go wrong.
enum XrtShimFault : std::uint32_t {
  kXrtShimEndless = 77,  // never done, until it is told to stop
  kXrtShimStuck = 78,    // never done
  kXrtShimRefused = 79,  // ends as ERT_CMD_STATE_ERROR
  kXrtShimBusError = 80  // done, and the core's registers tell of errors
};

// What FETTLE_XRT_SHIM in the environment makes worse:
//   none      there is no device          shell     it takes no .xclbin of that platform
//   small     buffers up to 1 MiB         across    buffers lie across a multiple of 4 GiB
//   identity  the core is of another design than the kernel's name says

}  // namespace fettle::test
