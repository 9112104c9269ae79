// XRT's container of a bitstream and what belongs to it (.xclbin: struct axlf of XRT's xclbin.h),
// read as far as must be known before a device is given it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/wire/codec.h"

namespace fettle::vta {

struct Xclbin {
  std::string platform;                    // what it was linked for: "xilinx_zcu104_base_202210_1"
  std::string part;                        // of its metadata: "xczu7ev"; "": it does not say
  std::vector<std::string> compute_units;  // "kernel:instance"
  std::optional<std::uint32_t> clock_khz;  // of its kernels
  std::size_t sections = 0;
  std::optional<ByteView> bitstream;  // of the file
};

bool begins_as_xclbin(ByteView file);

// Malformed for what is no such container or is cut off. Of what its sections hold only what is
// named above is read; nothing says that the bitstream is one (parse_bitstream).
Result<Xclbin> parse_xclbin(ByteView file);

}  // namespace fettle::vta
