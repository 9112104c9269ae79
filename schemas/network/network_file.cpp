// Reading network files (network_file.h).
#include "schemas/network/network_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "schemas/network/check_network.h"
#include "schemas/network/file_layout.h"
#include "schemas/wire/verified.h"

namespace fettle {
namespace {

using namespace file_layout;

template <typename Word>
Word word_at(ByteView file, std::size_t offset) {
  Word word = 0;
  for (std::size_t i = 0; i < sizeof word; ++i)
    word |= static_cast<Word>(file[offset + i]) << 8 * i;
  return word;
}

Error ends_early(std::uint64_t is, std::uint64_t wanted) {
  return {ErrorCode::Malformed, "the network file ends early: it has " + std::to_string(is) +
                                    " of " + std::to_string(wanted) + " bytes"};
}

// The description's bytes.
Result<ByteView> check_header(ByteView file) {
  const std::size_t magic = std::min(file.size(), sizeof kMagic);
  if (magic == 0 || std::memcmp(file.data(), kMagic, magic) != 0) {
    return Error{ErrorCode::Malformed, "no network file: it does not begin with FETTLNET"};
  }
  if (file.size() < kHeaderBytes) return ends_early(file.size(), kHeaderBytes);
  if (const auto version = word_at<std::uint32_t>(file, kVersionAt); version != kVersion) {
    return Error{ErrorCode::VersionMismatch,
                 "the network file is of version " + std::to_string(version) +
                     ", this program reads version " + std::to_string(kVersion)};
  }
  if (word_at<std::uint32_t>(file, kReservedAt) != 0) {
    return Error{ErrorCode::Malformed, "the network file's header has a field that must be 0"};
  }
  const auto bytes = word_at<std::uint64_t>(file, kFileBytesAt);
  const auto described = word_at<std::uint64_t>(file, kDescriptionBytesAt);
  if (file.size() < bytes) return ends_early(file.size(), bytes);
  if (file.size() > bytes) {
    return Error{ErrorCode::Malformed, "the network file goes on behind its end: it has " +
                                           std::to_string(file.size()) + " instead of " +
                                           std::to_string(bytes) + " bytes"};
  }
  if (described > bytes - kHeaderBytes) {
    return Error{ErrorCode::Malformed, "the network file's description does not end within it"};
  }
  const ByteView description = file.subspan(kHeaderBytes, static_cast<std::size_t>(described));
  const wire::Hash hash = content_hash(description);
  if (std::memcmp(&hash, &file[kHashAt], sizeof hash) != 0) {
    return Error{ErrorCode::Malformed,
                 "the network file is damaged: its description has another hash"};
  }
  return description;
}

ByteView bytes_at(const wire::BlobPlaceT& place, ByteView file) {
  return file.subspan(static_cast<std::size_t>(place.offset),
                      static_cast<std::size_t>(place.bytes));
}

}  // namespace

Result<wire::NetworkT> read_network_file(ByteView file) {
  auto description = check_header(file);
  if (!description) return std::move(description).error();
  const Aligned aligned(*description);
  auto table = verified<wire::Network>(aligned.view(), kIdentifier, "network");
  if (!table) return std::move(table).error();
  auto network = unpack<wire::NetworkT>(*table);
  if (auto checked = check_network(network, kHeaderBytes + description->size(), file.size());
      !checked) {
    return std::move(checked).error();
  }
  return network;
}

Result<void> check_blobs(const wire::NetworkT& network, ByteView file) {
  for (std::size_t i = 0; i < network.blobs.size(); ++i) {
    const wire::BlobPlaceT& place = *network.blobs[i];
    const wire::Hash hash = content_hash(bytes_at(place, file));
    if (std::memcmp(&hash, place.hash.get(), sizeof hash) != 0) {
      return Error{ErrorCode::Malformed, "the network file is damaged: blob " + std::to_string(i) +
                                             ", " + std::to_string(place.bytes) + " bytes from " +
                                             std::to_string(place.offset) +
                                             " on, has another hash"};
    }
  }
  return {};
}

BlobLookup blobs_of(const wire::NetworkT& network, ByteView file) {
  std::map<wire::Hash, ByteView, HashLess> places;
  for (const auto& place : network.blobs) places[*place->hash] = bytes_at(*place, file);
  return [places = std::move(places)](const wire::Hash& hash) {
    const auto found = places.find(hash);
    return found == places.end() ? ByteView() : found->second;
  };
}

}  // namespace fettle
