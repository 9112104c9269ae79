// Escaping by code points (printable.h).
#include "schemas/wire/printable.h"

#include <cstdint>
#include <cstdio>

namespace fettle {
namespace {

struct Character {
  std::uint32_t code;
  std::size_t bytes;  // 0: no UTF-8 starts here
};

Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {0, 0};
  std::uint32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {0, 0};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  return {code, bytes};
}

bool obeyed(std::uint32_t code) {
  if (code == '\n' || code == '\t') return false;
  const auto in = [code](std::uint32_t low, std::uint32_t high) {
    return code >= low && code <= high;
  };
  return code < 0x20 || in(0x7f, 0x9f) || in(0x200e, 0x200f) || in(0x2028, 0x202e) ||
         in(0x2066, 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_of(text);
    if (c.bytes == 0) {
      out += "\xef\xbf\xbd";
    } else if (obeyed(c.code)) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c.code & 0xffff));
      out += escaped;
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes == 0 ? 1 : c.bytes);
  }
  return out;
}

}  // namespace fettle
