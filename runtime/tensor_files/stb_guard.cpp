#include "runtime/tensor_files/stb_guard.h"

#include <cstddef>

namespace fettle {
namespace {

std::size_t byte_of(const std::string& bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
}

std::size_t big_endian(const std::string& bytes, std::size_t at, int count) {
  std::size_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | byte_of(bytes, at + std::size_t(i));
  return value;
}

// Portable Network Graphics (W3C), 5.3: length, type, contents, CRC.
bool first_data_is_empty(const std::string& png) {
  constexpr std::size_t kSignature = 8, kLengthAndType = 8, kCheck = 4;
  for (std::size_t at = kSignature; at + kLengthAndType <= png.size();) {
    const std::size_t length = big_endian(png, at, 4);
    if (png.compare(at + 4, 4, "IDAT") == 0) return length == 0;
    at += kLengthAndType + length + kCheck;
  }
  return false;
}

// ITU-T T.81, B.2.4.2: tables in one segment, each of a class, 16 counts and as many values.
bool is_overfull(const std::string& jpeg, std::size_t segment) {
  constexpr std::size_t kCounts = 16, kMostCodes = 256;
  const std::size_t end = segment + big_endian(jpeg, segment, 2);
  for (std::size_t table = segment + 2; table < end;) {
    std::size_t codes = 0;
    for (std::size_t i = 1; i <= kCounts; ++i) codes += byte_of(jpeg, table + i);
    if (codes > kMostCodes) return true;
    table += 1 + kCounts + codes;
  }
  return false;
}

// Up to the first scan the segments' lengths tell where markers are. Behind it each pair of bytes
// may be one: where stb stops reading a scan is the scan's to say.
bool has_overfull_table(const std::string& jpeg) {
  constexpr std::size_t kTables = 0xC4, kScan = 0xDA;
  bool in_scan = false;
  for (std::size_t at = 0; at + 1 < jpeg.size();) {
    const std::size_t code = byte_of(jpeg, at + 1);
    if (byte_of(jpeg, at) != 0xFF || code == 0xFF) {
      ++at;
      continue;
    }
    if (code == kTables && is_overfull(jpeg, at + 2)) return true;
    in_scan = in_scan || code == kScan;
    const bool alone = code <= 0x01 || (code >= 0xD0 && code <= 0xD9);
    at += in_scan || alone ? 2 : 2 + big_endian(jpeg, at + 2, 2);
  }
  return false;
}

}  // namespace

const char* stb_trips_over(const std::string& picture) {
  if (picture.compare(0, 4, "\x89PNG") == 0 && first_data_is_empty(picture)) {
    return "its first IDAT chunk is empty";
  }
  // It may begin with any number of them before the D8.
  if (picture.compare(0, 1, "\xFF") == 0 && has_overfull_table(picture)) {
    return "a Huffman table of more than 256 codes";
  }
  return nullptr;
}

}  // namespace fettle
