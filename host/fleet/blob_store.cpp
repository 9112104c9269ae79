// Blobs by content hash, with pins, charges and eviction.
#include "host/fleet/blob_store.h"

#include <algorithm>

namespace fettle::fleet {

bool BlobStore::holds(const wire::Hash& hash) const { return entries_.count(hash) != 0; }

std::size_t BlobStore::bytes_of(const Owner& owner) const {
  const auto found = charged_.find(owner);
  return found == charged_.end() ? 0 : found->second;
}

void BlobStore::charge(const Owner& owner, std::size_t bytes) {
  bytes_ += bytes;
  charged_[owner] += bytes;
}

void BlobStore::refund(const Owner& owner, std::size_t bytes) {
  bytes_ -= bytes;
  const auto found = charged_.find(owner);
  if (found != charged_.end() && (found->second -= bytes) == 0) charged_.erase(found);
}

void BlobStore::touch(const wire::Hash& hash, Entry& entry, TimePoint now) {
  uses_.erase(entry.order);
  entry.order = next_use_++;
  entry.used = now;
  uses_.emplace(entry.order, hash);
}

void BlobStore::evict(const wire::Hash& hash) {
  const auto found = entries_.find(hash);
  const Entry& entry = found->second;
  if (pins_.count(hash) != 0) lost_.push_back({hash, std::nullopt, entry.owner});
  gone_.push_back(hash);
  refund(entry.owner, entry.blob.bytes);
  uses_.erase(entry.order);
  entries_.erase(found);
}

// Of the other owner that has the most: an upload under way, else what was used longest ago.
bool BlobStore::take_from_largest(const Owner& except) {
  const Owner* largest = nullptr;
  std::size_t most = 0;
  for (const auto& [owner, bytes] : charged_) {
    if (owner == except || bytes <= most) continue;
    largest = &owner;
    most = bytes;
  }
  if (largest == nullptr) return false;
  const Owner from = *largest;
  for (const auto& [uploader, upload] : uploads_) {
    if (upload.owner != from || upload.blob.bytes == 0) continue;
    lost_.push_back({upload.hash, uploader, from});
    abandon(Uploader(uploader));
    return true;
  }
  for (const auto& [order, hash] : uses_) {
    if (entries_.at(hash).owner != from) continue;
    evict(wire::Hash(hash));
    return true;
  }
  return false;
}

bool BlobStore::make_room(std::size_t wanted, const Owner& owner, TimePoint now) {
  if (wanted > capacity_) return false;
  for (auto next = uses_.begin(); bytes_ + wanted > capacity_ && next != uses_.end();) {
    const wire::Hash hash = (next++)->second;
    const bool needed = pins_.count(hash) != 0 && now - entries_.at(hash).used < unused_;
    if (!needed) evict(hash);
  }
  // Whoever stays within its share gets it from whoever has more than theirs.
  while (bytes_ + wanted > capacity_) {
    const std::size_t own = bytes_of(owner), owners = charged_.size() + (own == 0 ? 1 : 0);
    if (own + wanted > capacity_ / owners || !take_from_largest(owner)) return false;
  }
  return true;
}

void BlobStore::begin(const Uploader& from, const Owner& owner, const wire::Hash& hash) {
  abandon(from);
  uploads_[from] = {hash, {}, owner};
}

bool BlobStore::add(const Uploader& from, SharedBytes piece, TimePoint now) {
  const auto found = uploads_.find(from);
  if (found == uploads_.end()) return false;
  Upload& upload = found->second;
  const std::size_t bytes = piece->size();
  if (!make_room(bytes, upload.owner, now)) {
    abandon(from);
    return false;
  }
  charge(upload.owner, bytes);
  upload.blob.messages.push_back(std::move(piece));
  upload.blob.bytes += bytes;
  return true;
}

void BlobStore::finish(const Uploader& from, TimePoint now) {
  const auto found = uploads_.find(from);
  if (found == uploads_.end()) return;
  Upload upload = std::move(found->second);
  uploads_.erase(found);
  if (holds(upload.hash)) return refund(upload.owner, upload.blob.bytes);  // of equal bytes
  Entry& entry = entries_[upload.hash];
  entry.blob = std::move(upload.blob);
  entry.owner = std::move(upload.owner);
  touch(upload.hash, entry, now);
}

void BlobStore::abandon(const Uploader& from) {
  const auto found = uploads_.find(from);
  if (found == uploads_.end()) return;
  refund(found->second.owner, found->second.blob.bytes);
  uploads_.erase(found);
}

bool BlobStore::put(const wire::Hash& hash, StoredBlob blob, const Owner& owner, TimePoint now) {
  if (holds(hash)) return true;
  if (!make_room(blob.bytes, owner, now)) return false;
  charge(owner, blob.bytes);
  Entry& entry = entries_[hash];
  entry.blob = std::move(blob);
  entry.owner = owner;
  touch(hash, entry, now);
  return true;
}

const StoredBlob* BlobStore::get(const wire::Hash& hash, TimePoint now) {
  const auto found = entries_.find(hash);
  if (found == entries_.end()) return nullptr;
  touch(hash, found->second, now);
  return &found->second.blob;
}

void BlobStore::unpin(const wire::Hash& hash) {
  const auto found = pins_.find(hash);
  if (found != pins_.end() && --found->second == 0) pins_.erase(found);
}

}  // namespace fettle::fleet
