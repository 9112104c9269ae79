// Where the parts of a network file lie (network_file.h): what reading and writing share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fettle::file_layout {

inline constexpr char kMagic[] = {'F', 'E', 'T', 'T', 'L', 'N', 'E', 'T'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr char kIdentifier[] = "FNET";  // of the description

// Byte offsets of the header's fields.
inline constexpr std::size_t kVersionAt = 8;
inline constexpr std::size_t kReservedAt = 12;
inline constexpr std::size_t kDescriptionBytesAt = 16;
inline constexpr std::size_t kFileBytesAt = 24;
inline constexpr std::size_t kHashAt = 32;
inline constexpr std::size_t kHeaderBytes = 64;

inline constexpr std::uint64_t kBlobAlignment = 64;
// The next offset at which a blob may begin.
constexpr std::uint64_t blob_offset(std::uint64_t after) {
  return (after + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment;
}

}  // namespace fettle::file_layout
