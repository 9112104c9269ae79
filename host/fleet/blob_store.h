// The broker's blobs by content hash: bounded, least recently used goes first,
// and what a pending request needs (a pin) never goes.
//
// A blob is kept as the encoded PutBlob messages that brought it, so that it goes
// to any number of agents without being copied or encoded again.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <vector>

#include "host/fleet/peer.h"
#include "schemas/wire/content_hash.h"

namespace fettle::fleet {

struct StoredBlob {
  std::vector<SharedBytes> messages;  // its pieces, in order
  std::size_t bytes = 0;              // of these
};

class BlobStore {
 public:
  explicit BlobStore(std::size_t capacity_bytes) : capacity_(capacity_bytes) {}

  // False: there is no room even without all unpinned blobs.
  bool put(const wire::Hash& hash, StoredBlob blob);
  // Null when it is not held; good until the next put. Counts as a use.
  const StoredBlob* get(const wire::Hash& hash);
  bool holds(const wire::Hash& hash) const;
  // Pins count; they may precede the blob itself.
  void pin(const wire::Hash& hash) { ++pins_[hash]; }
  void unpin(const wire::Hash& hash);
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    StoredBlob blob;
    std::list<wire::Hash>::iterator use;
  };
  bool make_room(std::size_t wanted);

  std::size_t capacity_, bytes_ = 0;
  std::map<wire::Hash, Entry, HashLess> entries_;
  std::map<wire::Hash, std::size_t, HashLess> pins_;
  std::list<wire::Hash> uses_;  // least recent first
};

}  // namespace fettle::fleet
