// Blobs by content hash, with pins and eviction.
#include "host/fleet/blob_store.h"

namespace fettle::fleet {

bool BlobStore::holds(const wire::Hash& hash) const { return entries_.count(hash) != 0; }

bool BlobStore::make_room(std::size_t wanted) {
  for (auto oldest = uses_.begin(); bytes_ + wanted > capacity_ && oldest != uses_.end();) {
    if (pins_.count(*oldest) != 0) {
      ++oldest;
      continue;
    }
    const auto entry = entries_.find(*oldest);
    bytes_ -= entry->second.blob.bytes;
    entries_.erase(entry);
    oldest = uses_.erase(oldest);
  }
  return bytes_ + wanted <= capacity_;
}

bool BlobStore::put(const wire::Hash& hash, StoredBlob blob) {
  if (holds(hash)) return true;  // equal hashes are equal bytes
  if (!make_room(blob.bytes)) return false;
  bytes_ += blob.bytes;
  const auto use = uses_.insert(uses_.end(), hash);
  entries_[hash] = {std::move(blob), use};
  return true;
}

const StoredBlob* BlobStore::get(const wire::Hash& hash) {
  const auto found = entries_.find(hash);
  if (found == entries_.end()) return nullptr;
  uses_.splice(uses_.end(), uses_, found->second.use);
  return &found->second.blob;
}

void BlobStore::unpin(const wire::Hash& hash) {
  const auto found = pins_.find(hash);
  if (found != pins_.end() && --found->second == 0) pins_.erase(found);
}

}  // namespace fettle::fleet
