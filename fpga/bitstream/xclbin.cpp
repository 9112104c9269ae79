// Sections of .xclbin files (xclbin.h). All numbers are little-endian.
#include "fpga/bitstream/xclbin.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace fettle::vta {
namespace {

constexpr std::string_view kMagic("xclbin2\0", 8);
constexpr std::size_t kLengthAt = 304, kPlatformAt = 352, kPlatformBytes = 64, kSectionsAt = 448,
                      kFirstSection = 456, kSectionBytes = 40, kSectionOffsetAt = 24,
                      kSectionSizeAt = 32;
constexpr std::uint64_t kMostSections = 0x10000;

// enum axlf_section_kind.
enum Kind : std::uint32_t { Bits = 0, Metadata = 2, IpLayout = 8, ClockFrequencies = 11 };

Error bad(std::string what) { return {ErrorCode::Malformed, ".xclbin: " + std::move(what)}; }

std::uint64_t number(ByteView bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i > 0; --i) value = value << 8 | bytes[at + i - 1];
  return value;
}

std::string text(ByteView bytes) {
  return std::string(bytes.begin(), std::find(bytes.begin(), bytes.end(), 0));
}

// struct ip_layout: a count, then rows of type, properties, base address and name.
Result<void> read_compute_units(ByteView section, Xclbin& xclbin) {
  constexpr std::size_t kRows = 8, kRowBytes = 80, kNameAt = 16, kNameBytes = 64;
  constexpr std::uint32_t kKernel = 1;
  if (section.size() < kRows) return bad("its IP layout is cut off");
  const std::uint64_t count = number(section, 0, 4);
  if (count > (section.size() - kRows) / kRowBytes) {
    return bad("its IP layout is too short for " + std::to_string(count) + " rows");
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const ByteView row = section.subspan(kRows + i * kRowBytes, kRowBytes);
    if (number(row, 0, 4) != kKernel) continue;
    xclbin.compute_units.push_back(text(row.subspan(kNameAt, kNameBytes)));
  }
  return {};
}

// struct clock_freq_topology: a count of 16 bits, then rows of MHz, type, padding and name. Kernels
// run at the clock of the type "data".
Result<void> read_clock(ByteView section, Xclbin& xclbin) {
  constexpr std::size_t kRows = 2, kRowBytes = 136, kTypeAt = 2;
  constexpr std::uint32_t kData = 1;
  if (section.size() < kRows) return bad("its clocks are cut off");
  const std::uint64_t count = number(section, 0, 2);
  if (count > (section.size() - kRows) / kRowBytes) {
    return bad("its clocks are too short for " + std::to_string(count) + " rows");
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const ByteView row = section.subspan(kRows + i * kRowBytes, kRowBytes);
    if (number(row, kTypeAt, 1) != kData) continue;
    xclbin.clock_khz = static_cast<std::uint32_t>(number(row, 0, 2)) * 1000;
  }
  return {};
}

// <device fpgaDevice="zynquplus:xczu7ev:ffvc1156:-2:e">, of the XML text.
std::string read_part(ByteView section) {
  constexpr std::string_view kAttribute = "fpgaDevice=\"";
  const std::string_view xml(reinterpret_cast<const char*>(section.data()), section.size());
  const std::size_t begin = xml.find(kAttribute);
  if (begin == std::string_view::npos) return "";
  std::string_view value = xml.substr(begin + kAttribute.size());
  value = value.substr(0, value.find('"'));
  const std::size_t family = value.find(':');
  if (family == std::string_view::npos) return std::string(value);
  value.remove_prefix(family + 1);
  return std::string(value.substr(0, value.find(':')));
}

Result<void> read_section(std::uint32_t kind, ByteView section, Xclbin& xclbin) {
  switch (kind) {
    case Bits:
      if (!xclbin.bitstream) xclbin.bitstream = section;
      return {};
    case Metadata:
      xclbin.part = read_part(section);
      return {};
    case IpLayout:
      return read_compute_units(section, xclbin);
    case ClockFrequencies:
      return read_clock(section, xclbin);
    default:
      return {};
  }
}

}  // namespace

bool begins_as_xclbin(ByteView file) {
  return file.size() >= kMagic.size() &&
         std::memcmp(file.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<Xclbin> parse_xclbin(ByteView file) {
  if (!begins_as_xclbin(file)) return bad("it does not begin as one");
  if (file.size() < kFirstSection) return bad("cut off within its header");
  const std::uint64_t length = number(file, kLengthAt, 8);
  if (length != file.size()) {
    return bad("its header promises " + std::to_string(length) + " bytes, and " +
               std::to_string(file.size()) + " are there");
  }
  const std::uint64_t count = number(file, kSectionsAt, 4);
  if (count > kMostSections || count * kSectionBytes > file.size() - kFirstSection) {
    return bad(std::to_string(count) + " sections, for which it is too short");
  }
  Xclbin xclbin;
  xclbin.platform = text(file.subspan(kPlatformAt, kPlatformBytes));
  xclbin.sections = static_cast<std::size_t>(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const ByteView row = file.subspan(kFirstSection + i * kSectionBytes, kSectionBytes);
    const auto kind = static_cast<std::uint32_t>(number(row, 0, 4));
    const std::uint64_t offset = number(row, kSectionOffsetAt, 8),
                        size = number(row, kSectionSizeAt, 8);
    if (offset > file.size() || size > file.size() - offset) {
      return bad((kind == Bits ? "its bitstream" : "its section " + std::to_string(i)) +
                 " lies beyond its end");
    }
    if (auto read = read_section(kind, file.subspan(offset, size), xclbin); !read) {
      return std::move(read).error();
    }
  }
  return xclbin;
}

}  // namespace fettle::vta
