// Bitstreams of AMD's (Xilinx') devices as files: .bit, .bin and .xclbin, recognised by what they
// hold, read, checked, and converted to what Linux's fpga_manager takes. Nothing here touches a
// device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/wire/codec.h"

namespace fettle::vta {

enum class BitstreamFormat : std::uint8_t { Bit, Bin, Xclbin };
const char* name_of(BitstreamFormat format);  // ".bit"

struct Bitstream {
  BitstreamFormat format = BitstreamFormat::Bin;
  // From a .bit's header, also of the one in an .xclbin; empty without one.
  std::string design;    // "vta_wrapper;UserID=0XFFFFFFFF;Version=2018.3"
  std::string part;      // "7z020clg484"
  std::string made;      // "2020/06/30 18:11:16"
  std::string platform;  // .xclbin: what it was made for
  // From the configuration data.
  std::optional<std::uint32_t> idcode;  // what the device compares with its own
  // What the fabric reads at its USR_ACCESS port: of our designs, vta::user_access_of().
  std::optional<std::uint32_t> user_access;
  std::uint64_t frame_words = 0;  // written into configuration frames
  std::size_t sync_offset = 0;    // of the sync word, in bytes of `data`
  Bytes data;                     // words of 32 bits, big-endian, whatever the file has
};

// Malformed, with the place, for what is none of them, is cut off, or whose configuration data are
// no packets that end as they should (7 series and UltraScale: AMD UG470, chapter 5).
Result<Bitstream> parse_bitstream(ByteView file);

// The content hash of `data`: the same for a .bit and what was converted from it.
wire::Hash hash_of(const Bitstream& bitstream);

// Every word's bytes reversed, as Linux's zynq-fpga wants them. Unsupported when the sync word
// comes too late for the driver, which looks at the first 128 bytes.
Result<Bytes> to_bin(const Bitstream& bitstream);

// A device's die, by its name as AMD's parts begin and its JTAG IDCODE without the revision.
struct Die {
  std::string_view name;  // "xc7z020"
  std::uint32_t idcode;
};
// Of a part's name in any of its forms ("7z020clg484", "xc7z020clg400-1", "xc7z020").
std::optional<Die> die_of_part(std::string_view part);
std::optional<Die> die_of_idcode(std::uint32_t idcode);

// WrongConfiguration when the bitstream is for another die than the part's, by its header or by its
// IDCODE; packages and speed grades are not compared. Unsupported when the part is unknown here, or
// when the bitstream says neither.
Result<void> check_die(const Bitstream& bitstream, std::string_view part);

}  // namespace fettle::vta
