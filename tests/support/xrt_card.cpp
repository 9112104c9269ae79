// The played card's folder and files (xrt_card.h).
#include "tests/support/xrt_card.h"

#include <cstdlib>
#include <fstream>

#include "fpga/xrt/kernel.h"
#include "tests/support/running_program.h"
#include "tests/support/xclbin_file.h"

namespace fettle::test {
std::string no_xrt_card() {
  setenv("XILINX_XRT", FETTLE_XRT_SHIM_FOLDER, 1);
  return "";
}

std::string xclbin_of(const std::string& name) {
  static const testing::ScratchFolder folder;
  const vta::Design design = *vta::find_design(name);
  const std::string file = folder.path() + "/" + name + ".xclbin";
  const Bytes bytes =
      write_xclbin({.kernel = vta::xrt_kernel_name(design),
                    .part = "family:" + design.die + ":package:-1:e",
                    .clock_mhz = static_cast<std::uint16_t>(design.clock_khz / 1000)});
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return file;
}

}  // namespace fettle::test
