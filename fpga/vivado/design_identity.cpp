// fettle-design NAME: prints a design's identity, 64 hexadecimal digits, for building its
// bitstream.
#include <cstdio>

#include "fpga/config/design.h"
#include "schemas/wire/content_hash.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: fettle-design NAME\n", stderr);
    return 2;
  }
  const auto design = fettle::vta::find_design(argv[1]);
  if (!design) {
    std::fprintf(stderr, "fettle-design: %s\n", design.error().text().c_str());
    return 1;
  }
  std::printf("%s\n", fettle::to_hex(design->identity()).c_str());
}
