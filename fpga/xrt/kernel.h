// Our core as a kernel of XRT (fpga/vivado/fettle_vta_kernel.sv, kernel.tcl): its registers, and
// its name, by which an .xclbin says which design it holds.
#pragma once

#include "fpga/config/design.h"
#include "schemas/wire/codec.h"

namespace fettle::vta {

// Arguments, by their numbers.
enum XrtArgument : int {
  kXrtInstructionCount,    // 32 bits
  kXrtInstructionAddress,  // 32 bits: of the first one, as the core says addresses
  // 64 bits, a buffer with all that the stream reads and writes. What the core says are the lower
  // 32 bits of addresses; the upper ones are this buffer's.
  kXrtMemory
};
// Their registers, in bytes. Those before are XRT's (ap_ctrl_hs).
inline constexpr std::uint32_t kXrtArgumentOffsets[] = {0x10, 0x18, 0x20};
// The core's own registers (fpga/config/register_map.h) begin there.
inline constexpr std::uint32_t kXrtCoreRegisters = 0x100;
inline constexpr std::uint32_t kXrtRegisterBytes = 0x1000;

// "fettle_vta_" and the first 16 digits of the design's identity.
std::string xrt_kernel_name(const Design& design);

// What an .xclbin tells before any device sees it.
struct XrtKernel {
  Design design;
  std::string name;             // of one compute unit, as XRT opens it: "kernel:{instance}"
  std::string platform;         // that it was linked for
  std::uint32_t clock_khz = 0;  // as it was linked; the design's where the file does not say
};

// Of a whole file. Malformed: no .xclbin; WrongConfiguration: it has no kernel of a design known
// here, or is for another die than the design's, by its metadata or its bitstream's IDCODE.
// Packages and speed grades are not compared.
Result<XrtKernel> read_xrt_kernel(ByteView xclbin);

}  // namespace fettle::vta
