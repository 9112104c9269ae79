// Any bytes as valid UTF-8 and back (postgres_text.h).
#include "host/records/postgres_text.h"

#include <cstdint>

namespace fettle::records {
namespace {

std::uint8_t byte(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

// Of the character that begins at `at`; 0: none that UTF-8 has (RFC 3629).
std::size_t character(std::string_view text, std::size_t at) {
  const std::uint8_t first = byte(text, at);
  if (first < 0x80) return first == 0 ? 0 : 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(text, at + i) & 0xc0) != 0x80) return 0;
  }
  const std::uint8_t second = byte(text, at + 1);
  if (first == 0xe0 && second < 0xa0) return 0;  // overlong
  if (first == 0xed && second > 0x9f) return 0;  // surrogates
  if (first == 0xf0 && second < 0x90) return 0;
  if (first == 0xf4 && second > 0x8f) return 0;  // above U+10FFFF
  return length;
}

// U+FDD0 to U+FDEF: EF B7 90 to EF B7 AF. Which of them, or -1.
int escape_at(std::string_view text, std::size_t at) {
  if (at + 3 > text.size() || byte(text, at) != 0xef || byte(text, at + 1) != 0xb7) return -1;
  const int which = byte(text, at + 2) - 0x90;
  return which >= 0 && which < 32 ? which : -1;
}

void escape(std::uint8_t value, std::string& out) {
  for (const int which : {value >> 4, 16 + (value & 15)}) {
    out += "\xef\xb7";
    out += static_cast<char>(0x90 + which);
  }
}

}  // namespace

std::string to_postgres_text(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = escape_at(bytes, at) >= 0 ? 0 : character(bytes, at);
    if (length == 0) escape(byte(bytes, at), out);
    out.append(bytes, at, length);
    at += length == 0 ? 1 : length;
  }
  return out;
}

std::string from_postgres_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const int high = escape_at(text, at), low = escape_at(text, at + 3);
    if (high >= 0 && high < 16 && low >= 16) {
      out += static_cast<char>(high << 4 | (low - 16));
      at += 6;
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace fettle::records
