// Any bytes as a bitstream's file: what is taken must convert, and read back as the same.
#include <cstdlib>

#include "fpga/bitstream/bitstream.h"
#include "tests/fuzz/fuzz_target.h"

using namespace fettle::vta;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = parse_bitstream({data, size});
  if (!read) return 0;
  (void)check_die(*read, "xc7z020");
  const auto bin = to_bin(*read);
  if (!bin) return 0;
  const auto again = parse_bitstream(*bin);
  if (!again || again->data != read->data || again->idcode != read->idcode) std::abort();
  return 0;
}

std::vector<fettle::Bytes> fuzz_seeds() {
  fettle::Bytes data(16, 0xff);
  for (const std::uint32_t word : {0xaa995566u, 0x20000000u, 0x30018001u, 0x03727093u, 0x30004002u,
                                   1u, 2u, 0x30008001u, 0x0000000du, 0x20000000u}) {
    for (int k = 24; k >= 0; k -= 8) data.push_back(static_cast<std::uint8_t>(word >> k));
  }
  const std::uint8_t size = static_cast<std::uint8_t>(data.size());
  fettle::Bytes bit = {0, 1,   0,   0,   1,   'a', 0, 2,   'x', 0, 'b', 0,
                       6, '7', 'z', '0', '2', '0', 0, 'e', 0,   0, 0,   size};
  bit.insert(bit.end(), data.begin(), data.end());
  fettle::Bytes xclbin(456 + 40);
  for (std::size_t i = 0; i < 7; ++i) xclbin[i] = static_cast<std::uint8_t>("xclbin2"[i]);
  xclbin[448] = 1;
  xclbin[456 + 24] = static_cast<std::uint8_t>(xclbin.size());
  xclbin[456 + 25] = static_cast<std::uint8_t>(xclbin.size() >> 8);
  xclbin[456 + 32] = static_cast<std::uint8_t>(bit.size());
  xclbin.insert(xclbin.end(), bit.begin(), bit.end());
  xclbin[304] = static_cast<std::uint8_t>(xclbin.size());
  xclbin[305] = static_cast<std::uint8_t>(xclbin.size() >> 8);
  return {data, bit, xclbin};
}
