// Writing network files (network_file.h).
#include <cerrno>
#include <cstring>
#include <ostream>
#include <set>

#include "schemas/network/check_network.h"
#include "schemas/network/file_layout.h"
#include "schemas/network/network_file.h"
#include "schemas/wire/verified.h"

namespace fettle {
namespace {

using namespace file_layout;

template <typename Word>
void put_word(Bytes& header, std::size_t offset, Word word) {
  for (std::size_t i = 0; i < sizeof word; ++i) {
    header[offset + i] = static_cast<std::uint8_t>(word >> 8 * i);
  }
}

// Sets where the blobs lie behind a description of so many bytes; where the last one ends.
std::uint64_t place_blobs(wire::NetworkT& network, std::uint64_t description_bytes) {
  std::uint64_t end = kHeaderBytes + description_bytes;
  for (const auto& place : network.blobs) {
    place->offset = blob_offset(end);
    end = place->offset + place->bytes;
  }
  return end;
}

class Writer {
 public:
  explicit Writer(std::ostream& out) : out_(out) {}
  void bytes(ByteView bytes) {
    out_.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    written_ += bytes.size();
  }
  void zeros_up_to(std::uint64_t offset) {
    static constexpr std::uint8_t zeros[kBlobAlignment] = {};
    bytes(ByteView(zeros).first(static_cast<std::size_t>(offset - written_)));
  }

 private:
  std::ostream& out_;
  std::uint64_t written_ = 0;
};

}  // namespace

Result<void> write_network_file(wire::NetworkT network, std::span<const ByteView> contents,
                                std::ostream& out) {
  network.blobs.clear();
  std::vector<ByteView> written;
  std::set<wire::Hash, HashLess> known;
  for (const ByteView content : contents) {
    const wire::Hash hash = content_hash(content);
    if (!known.insert(hash).second) continue;
    auto place = std::make_unique<wire::BlobPlaceT>();
    place->hash = std::make_unique<wire::Hash>(hash);
    place->bytes = content.size();
    network.blobs.push_back(std::move(place));
    written.push_back(content);
  }
  // Checked before it is encoded, which takes no absent parts.
  std::uint64_t end = place_blobs(network, 0);
  if (auto checked = check_network(network, kHeaderBytes, end); !checked) {
    Error error = std::move(checked).error();
    error.code = ErrorCode::InvalidArgument;
    return std::move(error).in("writing a network file");
  }
  // Offsets are never 0, so that the description's size does not depend on them.
  end = place_blobs(network, pack<wire::Network>(network, kIdentifier).size());
  const Bytes description = pack<wire::Network>(network, kIdentifier);

  Bytes header(kHeaderBytes);
  std::memcpy(header.data(), kMagic, sizeof kMagic);
  put_word<std::uint32_t>(header, kVersionAt, kVersion);
  put_word<std::uint64_t>(header, kDescriptionBytesAt, description.size());
  put_word<std::uint64_t>(header, kFileBytesAt, end);
  const wire::Hash hash = content_hash(description);
  std::memcpy(&header[kHashAt], &hash, sizeof hash);

  errno = 0;
  Writer writer(out);
  writer.bytes(header);
  writer.bytes(description);
  for (std::size_t i = 0; i < written.size(); ++i) {
    writer.zeros_up_to(network.blobs[i]->offset);
    writer.bytes(written[i]);
  }
  out.flush();
  if (!out) {
    const int why = errno;
    return Error{why == ENOSPC ? ErrorCode::DiskFull : ErrorCode::Io,
                 std::string("writing a network file of ") + std::to_string(end) + " bytes" +
                     (why == 0 ? "" : std::string(": ") + std::strerror(why))};
  }
  return {};
}

}  // namespace fettle
