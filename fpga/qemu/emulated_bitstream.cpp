// Files without a circuit (emulated_bitstream.h). Packets: AMD UG470, chapter 5.
#include "fpga/qemu/emulated_bitstream.h"

#include <cstdio>

namespace fettle::vta {
namespace {

void add_big(Bytes& bytes, std::uint64_t value, unsigned width) {
  while (width-- > 0) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * width)));
}

// A packet of type 1 with one word for a configuration register.
enum Register : std::uint32_t { kFar = 1, kFdri = 2, kCmd = 4, kIdcode = 12, kAxss = 13 };
void add_write(Bytes& bytes, Register to, std::uint32_t value) {
  add_big(bytes, 0x30000001u | to << 13, 4);
  add_big(bytes, value, 4);
}

constexpr std::uint32_t kNop = 0x20000000, kIdcodeOfDie = 0x03727093;
constexpr std::uint32_t kFrameWords = 24 * 1024;
enum Command : std::uint32_t { kWriteFrames = 1, kStart = 5, kResetCrc = 7, kDesync = 13 };

Bytes configuration_data(const Design& design) {
  Bytes out(32, 0xff);
  // Detection of the bus's width, then the sync word.
  for (const std::uint32_t word :
       {0x000000bbu, 0x11220044u, 0xffffffffu, 0xffffffffu, 0xaa995566u, kNop}) {
    add_big(out, word, 4);
  }
  add_write(out, kCmd, kResetCrc);
  add_big(out, kNop, 4);
  add_write(out, kIdcode, kIdcodeOfDie);
  add_write(out, kAxss, user_access_of(design));
  add_write(out, kFar, 0);
  add_write(out, kCmd, kWriteFrames);
  add_big(out, 0x30000000u | kFdri << 13, 4);
  add_big(out, 0x50000000u | kFrameWords, 4);  // type 2: so many words behind it
  out.resize(out.size() + std::size_t{kFrameWords} * 4);
  add_write(out, kCmd, kStart);
  add_write(out, kCmd, kDesync);
  for (int i = 0; i < 64; ++i) add_big(out, kNop, 4);
  return out;
}

}  // namespace

Bytes make_emulated_bitstream(const Design& design) {
  const Bytes data = configuration_data(design);
  Bytes out;
  add_big(out, 9, 2);
  for (int i = 0; i < 4; ++i) add_big(out, 0x0ff0, 2);
  out.push_back(0);
  add_big(out, 1, 2);
  const auto add_text = [&](char tag, const std::string& text) {
    out.push_back(static_cast<std::uint8_t>(tag));
    add_big(out, text.size() + 1, 2);
    out.insert(out.end(), text.begin(), text.end());
    out.push_back(0);
  };
  char user_access[16];
  std::snprintf(user_access, sizeof user_access, "%08X", user_access_of(design));
  add_text('a', "emulated_" + design.name + ";UserID=0X" + user_access + ";Version=fettle");
  add_text('b', "7z020clg400");
  // The same design gives the same file.
  add_text('c', "2026/01/01");
  add_text('d', "00:00:00");
  out.push_back('e');
  add_big(out, data.size(), 4);
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

}  // namespace fettle::vta
