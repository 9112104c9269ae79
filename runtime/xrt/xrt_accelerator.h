// Our core as an accelerator behind XRT (Zynq UltraScale+, Alveo): an .xclbin whose kernel it is
// (fpga/xrt/kernel.h), one buffer as its memory, a run of the kernel for each stream.
#pragma once

#include <memory>

#include "runtime/vta/accelerator.h"
#include "runtime/xrt/xrt_driver.h"

namespace fettle::runtime {

struct XrtSettings {
  std::string libraries;  // XrtDriver::load
  std::string device;     // a number, or a PCI address as "0000:03:00.1"
  std::uint64_t memory_bytes = 0;
};

// With the memory of `settings`. `xclbin` is a whole file, as read_xrt_kernel() takes it.
//   NotFound            no XRT, no driver of it, no such device
//   LoadError           XRT does not load the file, as one for another platform
//   WrongConfiguration  the kernel's registers are those of no core, or of another design's
//   OutOfMemory         no such buffer, or none whose addresses the core can say
//   and what read_xrt_kernel() says
Result<std::unique_ptr<Accelerator>> make_xrt_accelerator(const XrtSettings& settings,
                                                          ByteView xclbin);

}  // namespace fettle::runtime
