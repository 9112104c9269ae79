// fettle-emulated-bitstream DESIGN FILE.bit: a bitstream that the emulated board takes for the
// design's.
#include <cstdio>
#include <fstream>

#include "fpga/qemu/emulated_bitstream.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: fettle-emulated-bitstream DESIGN FILE.bit\n", stderr);
    return 2;
  }
  const auto design = fettle::vta::find_design(argv[1]);
  if (!design) {
    std::fprintf(stderr, "fettle-emulated-bitstream: %s\n", design.error().text().c_str());
    return 1;
  }
  const fettle::Bytes file = fettle::vta::make_emulated_bitstream(*design);
  std::ofstream out(argv[2], std::ios::binary);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  if (!out.flush()) {
    std::fprintf(stderr, "fettle-emulated-bitstream: cannot write %s\n", argv[2]);
    return 1;
  }
}
