// Bitstreams' files, made here packet by packet: read, converted, and refused when anything is cut
// off, changed or for another die.
#include <gtest/gtest.h>

#include <algorithm>

#include "fpga/bitstream/bitstream.h"
#include "schemas/wire/content_hash.h"

namespace fettle::vta {
namespace {

void add_big(Bytes& bytes, std::uint64_t value, unsigned width) {
  while (width-- > 0) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * width)));
}

// Configuration data as Vivado writes them, with a handful of words for frames.
constexpr std::uint32_t kUserAccess = 0x0123abcd;
Bytes data(std::uint32_t idcode = 0x03727093, std::uint32_t frames = 40) {
  Bytes out(32, 0xff);
  for (const std::uint32_t word :
       {0x000000bbu, 0x11220044u, 0xffffffffu, 0xffffffffu, 0xaa995566u,
        0x20000000u, 0x30008001u, 0x00000007u, 0x20000000u, 0x30018001u,
        idcode,      0x3001a001u, kUserAccess, 0x30002001u, 0u,
        0x30008001u, 1u,          0x20000000u, 0x30004000u, 0x50000000u | frames}) {
    add_big(out, word, 4);
  }
  // Frames may hold anything, also what looks like packets.
  for (std::uint32_t i = 0; i < frames; ++i)
    add_big(out, i == 3 ? 0xaa995566u : i * 0x9e3779b9u, 4);
  for (const std::uint32_t word :
       {0x30000001u, 0x12345678u, 0x30008001u, 0x0000000du, 0x20000000u, 0x20000000u}) {
    add_big(out, word, 4);
  }
  return out;
}

Bytes bit(const Bytes& data, const std::string& part = "7z020clg400") {
  Bytes out;
  add_big(out, 9, 2);
  for (const int byte : {0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0, 0x00})
    out.push_back(static_cast<std::uint8_t>(byte));
  add_big(out, 1, 2);
  const auto text = [&](char tag, const std::string& value) {
    out.push_back(static_cast<std::uint8_t>(tag));
    add_big(out, value.size() + 1, 2);
    out.insert(out.end(), value.begin(), value.end());
    out.push_back(0);
  };
  text('a', "top;UserID=0XFFFFFFFF;Version=2020.1");
  text('b', part);
  text('c', "2026/11/23");
  text('d', "08:40:00");
  out.push_back('e');
  add_big(out, data.size(), 4);
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

Bytes reversed_words(Bytes bytes) {
  for (auto at = bytes.begin(); at != bytes.end(); at += 4) std::reverse(at, at + 4);
  return bytes;
}

void put_little(Bytes& bytes, std::size_t at, std::uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

// A container as XRT's axlf: a section of something else, then the bitstream.
Bytes xclbin(const Bytes& inside) {
  Bytes out(456 + 2 * 40 + 16);
  std::copy_n("xclbin2", 8, out.begin());
  const std::string platform = "xilinx_zcu104_base";
  std::copy(platform.begin(), platform.end(), out.begin() + 352);
  put_little(out, 448, 2, 4);
  put_little(out, 456, 6, 4);
  put_little(out, 456 + 24, 456 + 80, 8);
  put_little(out, 456 + 32, 16, 8);
  put_little(out, 496 + 24, out.size(), 8);
  put_little(out, 496 + 32, inside.size(), 8);
  put_little(out, 304, out.size() + inside.size(), 8);
  out.insert(out.end(), inside.begin(), inside.end());
  return out;
}

TEST(VtaBitstream, EveryFormHoldsTheSame) {
  const Bytes plain = data();
  const struct {
    Bytes file;
    BitstreamFormat format;
    bool header;
  } rows[] = {{bit(plain), BitstreamFormat::Bit, true},
              {plain, BitstreamFormat::Bin, false},
              {reversed_words(plain), BitstreamFormat::Bin, false},
              {xclbin(bit(plain)), BitstreamFormat::Xclbin, true},
              {xclbin(plain), BitstreamFormat::Xclbin, false}};
  for (const auto& row : rows) {
    const auto read = parse_bitstream(row.file);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->format, row.format);
    EXPECT_EQ(read->data, plain);
    EXPECT_EQ(read->idcode, 0x03727093u);
    EXPECT_EQ(read->user_access, kUserAccess);
    EXPECT_EQ(read->frame_words, 40u);
    EXPECT_EQ(read->sync_offset, 48u);
    EXPECT_EQ(to_hex(hash_of(*read)), to_hex(content_hash(plain)));
    EXPECT_EQ(read->part, row.header ? "7z020clg400" : "");
    EXPECT_EQ(read->design, row.header ? "top;UserID=0XFFFFFFFF;Version=2020.1" : "");
    EXPECT_EQ(read->made, row.header ? "2026/11/23 08:40:00" : "");
    EXPECT_EQ(read->platform, row.format == BitstreamFormat::Xclbin ? "xilinx_zcu104_base" : "");
    const auto bin = to_bin(*read);
    ASSERT_TRUE(bin);
    EXPECT_EQ(*bin, reversed_words(plain));
    // What Linux's driver looks for.
    const Bytes sync = {0x66, 0x55, 0x99, 0xaa};
    EXPECT_TRUE(std::equal(sync.begin(), sync.end(), bin->begin() + 48));
  }
}

// Wherever a file ends too early: but for the NOPs at its end it is refused.
TEST(VtaBitstream, CutOffAnywhere) {
  for (const Bytes& whole : {bit(data()), data(), reversed_words(data()), xclbin(bit(data()))}) {
    const bool framed = whole[0] != 0xff;
    const std::size_t end = whole.size() - (framed ? 0 : 8);
    for (std::size_t size = 0; size < end; ++size) {
      const Bytes file(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      const auto read = parse_bitstream(file);
      ASSERT_FALSE(read) << size << " of " << whole.size();
      EXPECT_EQ(read.error().code, ErrorCode::Malformed);
    }
  }
}

TEST(VtaBitstream, RefusedWithAReason) {
  const auto changed = [](Bytes bytes, std::size_t at, std::uint8_t to) {
    bytes.at(at) = to;
    return bytes;
  };
  const auto shorter = [](Bytes bytes, std::size_t by) {
    bytes.resize(bytes.size() - by);
    return bytes;
  };
  Bytes late = data();
  late.insert(late.begin(), 5000, 0xff);
  Bytes unaligned = data();
  unaligned.insert(unaligned.begin(), 2, 0xff);
  Bytes longer = bit(data());
  longer.push_back(0);
  const struct {
    Bytes file;
    const char* why;
  } rows[] = {
      {{}, "neither .bit, .bin nor .xclbin"},
      {Bytes(4096, 0), "neither .bit, .bin nor .xclbin"},
      {late, "neither .bit, .bin nor .xclbin"},
      {unaligned, "neither .bit, .bin nor .xclbin"},
      {longer, "its header promises 296 bytes of configuration data, and 297 are there"},
      {changed(data(), 52, 0x00), "no packet at byte 52"},
      {changed(data(), 52, 0xe0), "no packet at byte 52"},
      {changed(data(), 110, 0x01), "a packet at byte 108 is to have 296 words, and 46 are left"},
      {changed(data(), 111, 0x29), "no packet at byte"},
      {shorter(data(), 16), "they end without a DESYNC"},
      {shorter(data(), 9), "which are no whole words"},
      {xclbin(Bytes(64, 0)), "neither .bit, .bin nor .xclbin"},
      {changed(xclbin(data()), 496, 1), "no bitstream among its 2 sections"},
      {changed(xclbin(data()), 450, 1), "65538 sections"},
      {changed(xclbin(data()), 496 + 26, 1), "its bitstream lies beyond its end"},
      {changed(xclbin(data()), 496 + 34, 1), "its bitstream lies beyond its end"},
  };
  for (const auto& row : rows) {
    const auto read = parse_bitstream(row.file);
    ASSERT_FALSE(read) << row.why;
    EXPECT_NE(read.error().text().find(row.why), std::string::npos) << read.error().text();
  }
}

TEST(VtaBitstream, SyncWordsThatLinuxWouldMiss) {
  Bytes late = data();
  late.insert(late.begin(), 128, 0xff);
  const auto read = parse_bitstream(bit(late));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(to_bin(*read).error().message,
            "the sync word is at byte 176, and Linux looks for it in the first 128");
}

TEST(VtaBitstream, PartsWithoutPackageAndSpeed) {
  for (const char* part :
       {"xc7z020", "7z020", "7z020clg400", "7z020clg484", "xc7z020clg400-1", "xc7z020-1"}) {
    const auto die = die_of_part(part);
    ASSERT_TRUE(die) << part;
    EXPECT_EQ(die->name, "xc7z020") << part;
  }
  EXPECT_EQ(die_of_part("7z007sclg225")->name, "xc7z007s");
  EXPECT_EQ(die_of_part("7z045ffg900")->name, "xc7z045");
  for (const char* part : {"", "xc", "7z02", "7z0200", "xczu3eg", "7z007clg225"}) {
    EXPECT_FALSE(die_of_part(part)) << part;
  }
  EXPECT_EQ(die_of_idcode(0x23727093)->name, "xc7z020");  // any revision
  EXPECT_FALSE(die_of_idcode(0x03727094));
}

TEST(VtaBitstream, AnotherDieIsRefused) {
  const auto checked = [](const Bytes& file, std::string_view part) {
    const auto read = parse_bitstream(file);
    EXPECT_TRUE(read) << read.error().text();
    const auto result = check_die(*read, part);
    return result
               ? ""
               : std::string(fettle::name_of(result.error().code)) + ": " + result.error().message;
  };
  EXPECT_EQ(checked(bit(data()), "xc7z020clg484-2"), "");
  EXPECT_EQ(checked(bit(data(0x13727093)), "xc7z020"), "");
  EXPECT_EQ(checked(data(), "xc7z020"), "");
  EXPECT_EQ(
      checked(bit(data(), "7z010clg400"), "xc7z020"),
      "WrongConfiguration: the bitstream is for the part 7z010clg400, and here is an xc7z020");
  EXPECT_EQ(checked(bit(data(0x03722093)), "xc7z020"),
            "WrongConfiguration: the bitstream is for the IDCODE 0x03722093 (xc7z010), and here is "
            "an xc7z020");
  EXPECT_EQ(
      checked(data(0x12345678), "xc7z020"),
      "WrongConfiguration: the bitstream is for the IDCODE 0x12345678, and here is an xc7z020");
  EXPECT_EQ(checked(bit(data()), "ep4ce22"), "Unsupported: no die is known for the part 'ep4ce22'");
  Bytes silent = data();
  silent[32 + 9 * 4 + 2] = 0xa0;  // the IDCODE's packet goes to another register
  EXPECT_EQ(checked(silent, "xc7z020"),
            "Unsupported: the bitstream does not say which die it is for");
}

}  // namespace
}  // namespace fettle::vta
