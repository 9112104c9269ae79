// Blobs by content hash, each a sealed memory file that can be passed to workers: one
// descriptor each, so that they are bounded by number too.
#pragma once

#include <list>
#include <optional>

#include "agent/worker/request_link.h"
#include "schemas/wire/blob_pieces.h"

namespace fettle::agent {

// Two requests' worth, and half of the 1,024 descriptors that a process usually has.
inline constexpr std::size_t kMostHeldBlobs = 512;
static_assert(kMostHeldBlobs >= 2 * kMostPassedBlobs);

class BlobStore {
 public:
  explicit BlobStore(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  // Malformed when the bytes do not have that hash; TooLarge over the whole bound.
  // The blobs longest unused go when a bound is passed.
  Result<void> put(const wire::Hash& hash, ByteView bytes);
  // A piece of a blob, as they come from the broker; true: the whole is held now. Errors as
  // put's: TooLarge at the first piece, whose others are then passed over.
  Result<bool> put_piece(const wire::PutBlobT& piece);
  bool holds(const wire::Hash& hash) const;
  // The descriptor stays the store's; good until the next put.
  std::optional<PassedBlob> find(const wire::Hash& hash);
  std::uint64_t held_bytes() const { return held_bytes_; }
  std::uint64_t limit_bytes() const { return limit_bytes_; }

 private:
  struct Entry {
    wire::Hash hash;
    OwnedFd fd;
    std::uint64_t bytes;
  };
  Result<void> check_size(std::uint64_t bytes) const;

  std::uint64_t limit_bytes_, held_bytes_ = 0;
  BlobPieces pieces_;
  Bytes incoming_;            // of the blob under way
  bool passed_over_ = false;  // it is too large
  std::list<Entry> entries_;  // last used first
};

// Every blob that a request names, each once.
std::vector<wire::Hash> named_blobs(const wire::MeasureRequestT& request);

}  // namespace fettle::agent
