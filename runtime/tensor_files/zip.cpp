// Archives by PKWARE's APPNOTE: sections 4.3.7 (local header), 4.3.12 (central directory), 4.3.16
// (its end) (zip.h).
#include "runtime/tensor_files/zip.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/tensor_files/stb_parts.h"
#include "schemas/wire/bounded_read.h"

namespace fettle {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr std::size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr std::size_t kMost = 0xffff'fffe;
// A flag of 4.4.4; else a name is of code page 437.
constexpr std::uint32_t kUtf8 = 0x800;

Error bad(const char* what) {
  return {ErrorCode::Malformed, std::string("no ZIP archive: ") + what};
}

bool is_ascii(const std::string& name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::uint32_t word(const std::string& text, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= std::uint32_t{static_cast<std::uint8_t>(text[at + i])} << 8 * i;
  }
  return value;
}

void put(std::string& text, std::uint32_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i);
}

std::uint32_t crc32(const std::string& text) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0xedb8'8320 : value >> 1;
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t crc = 0xffff'ffff;
  for (const char byte : text)
    crc = table[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff] ^ crc >> 8;
  return ~crc;
}

// What the entry of the central directory at `at` names.
Result<ZipEntry> read_entry(const std::string& archive, std::size_t at) {
  const std::uint32_t flags = word(archive, at + 8, 2), method = word(archive, at + 10, 2);
  const std::size_t packed = word(archive, at + 20, 4), bytes = word(archive, at + 24, 4);
  const std::size_t local = word(archive, at + 42, 4);
  ZipEntry entry{archive.substr(at + kCentralBytes, word(archive, at + 28, 2)), {}};
  if (flags & 1) return Error{ErrorCode::Unsupported, "an encrypted ZIP archive"};
  if (packed > kMost || bytes > kMost) return Error{ErrorCode::Unsupported, "an entry over 4 GiB"};
  if (local > archive.size() || archive.size() - local < kLocalBytes ||
      word(archive, local, 4) != kLocal) {
    return bad("an entry that is not there");
  }
  const std::size_t begin =
      local + kLocalBytes + word(archive, local + 26, 2) + word(archive, local + 28, 2);
  if (begin > archive.size() || packed > archive.size() - begin) return bad("an entry ends early");
  if (method == 0 && packed == bytes) {
    entry.contents = archive.substr(begin, bytes);
  } else if (method == 8) {
    // Deflate makes at most 1032 bytes of one.
    if (bytes / 1032 > packed) return bad("an entry that would be larger than can be");
    entry.contents.resize(bytes);
    const std::size_t with_more = std::min(packed + kInflateAhead, archive.size() - begin);
    if (!inflate(archive.data() + begin, with_more, entry.contents.data(), bytes)) {
      return bad("an entry that does not unpack");
    }
  } else {
    return Error{ErrorCode::Unsupported,
                 "a ZIP archive with compression " + std::to_string(method)};
  }
  if (crc32(entry.contents) != word(archive, at + 16, 4)) return bad("an entry is damaged");
  return entry;
}

}  // namespace

Result<std::vector<ZipEntry>> parse_zip(const std::string& archive) {
  if (archive.size() < kEndBytes) return bad("it is too short");
  std::size_t end = archive.size() - kEndBytes;
  // A comment of up to 64 KiB may stand behind the end.
  const std::size_t first = end > 0xffff ? end - 0xffff : 0;
  while (word(archive, end, 4) != kEnd) {
    if (end-- == first) return bad("it has no end");
  }
  const std::uint32_t count = word(archive, end + 10, 2);
  std::size_t at = word(archive, end + 16, 4);
  std::vector<ZipEntry> entries;
  std::uint64_t unpacked = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (at > end || end - at < kCentralBytes || word(archive, at, 4) != kCentral) {
      return bad("its directory ends early");
    }
    const std::size_t name = word(archive, at + 28, 2);
    if (end - at - kCentralBytes < name) return bad("its directory ends early");
    // One entry may be named by many lines of the directory.
    if (unpacked + word(archive, at + 24, 4) > kMostTensorBytes) {
      return Error{ErrorCode::TooLarge, "a ZIP archive that unpacks to more than " +
                                            std::to_string(kMostTensorBytes >> 20) + " MiB"};
    }
    auto entry = read_entry(archive, at);
    if (!entry) return std::move(entry).error();
    unpacked += entry->contents.size();
    entries.push_back(std::move(*entry));
    at += kCentralBytes + name + word(archive, at + 30, 2) + word(archive, at + 32, 2);
  }
  return entries;
}

Result<std::string> zip_archive(const std::vector<ZipEntry>& entries) {
  std::string archive, directory;
  for (const ZipEntry& entry : entries) {
    const std::size_t local = archive.size();
    if (entries.size() >= 0xffff || entry.name.size() > 0xffff ||
        local + entry.contents.size() > kMost - (1 << 20)) {
      return Error{ErrorCode::InvalidArgument, "too much for a ZIP archive of 4 GiB"};
    }
    // What both headers say: version 2.0, whether the name is UTF-8, stored, the first of January
    // 1980.
    std::string facts;
    put(facts, 20, 2);
    put(facts, is_ascii(entry.name) ? 0 : kUtf8, 2);
    put(facts, 0, 2);
    put(facts, 0, 2);
    put(facts, 0x21, 2);
    put(facts, crc32(entry.contents), 4);
    put(facts, static_cast<std::uint32_t>(entry.contents.size()), 4);
    put(facts, static_cast<std::uint32_t>(entry.contents.size()), 4);
    put(facts, static_cast<std::uint32_t>(entry.name.size()), 2);
    put(facts, 0, 2);
    put(archive, kLocal, 4);
    archive += facts + entry.name + entry.contents;
    put(directory, kCentral, 4);
    put(directory, 20, 2);
    directory += facts;
    put(directory, 0, 4);  // comment, disk
    put(directory, 0, 2);
    put(directory, 0, 4);
    put(directory, static_cast<std::uint32_t>(local), 4);
    directory += entry.name;
  }
  const std::size_t begin = archive.size();
  archive += directory;
  put(archive, kEnd, 4);
  put(archive, 0, 4);  // disks
  put(archive, static_cast<std::uint32_t>(entries.size()), 2);
  put(archive, static_cast<std::uint32_t>(entries.size()), 2);
  put(archive, static_cast<std::uint32_t>(directory.size()), 4);
  put(archive, static_cast<std::uint32_t>(begin), 4);
  put(archive, 0, 2);
  return archive;
}

}  // namespace fettle
