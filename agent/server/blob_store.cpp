// Blob store (blob_store.h).
#include "agent/server/blob_store.h"

#include <cstring>
#include <set>
#include <utility>

namespace fettle::agent {
namespace {
bool same(const wire::Hash& a, const wire::Hash& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
}  // namespace

Result<void> BlobStore::put(const wire::Hash& hash, ByteView bytes) {
  if (holds(hash)) return {};
  if (bytes.empty() || !same(content_hash(bytes), hash)) {
    return Error{ErrorCode::Malformed, "a blob of " + std::to_string(bytes.size()) +
                                           " bytes does not have the hash it came under"};
  }
  if (auto fits = check_size(bytes.size()); !fits) return fits;
  auto memory = make_sealed_memory("fettle-blob", std::span(&bytes, 1));
  if (!memory) return std::move(memory).error();
  held_bytes_ += bytes.size();
  entries_.push_front({hash, std::move(*memory), bytes.size()});
  while (held_bytes_ > limit_bytes_ || entries_.size() > kMostHeldBlobs) {
    held_bytes_ -= entries_.back().bytes;
    entries_.pop_back();
  }
  return {};
}

Result<void> BlobStore::check_size(std::uint64_t bytes) const {
  if (bytes <= limit_bytes_) return {};
  return Error{ErrorCode::TooLarge, "a blob of " + std::to_string(bytes) +
                                        " bytes is over the bound of " +
                                        std::to_string(limit_bytes_) + " (--blob-cache)"};
}

Result<bool> BlobStore::put_piece(const wire::PutBlobT& piece) {
  const bool first = piece.offset == 0;
  auto last = pieces_.take(piece);
  if (!last || first) {
    incoming_ = {};
    passed_over_ = false;
  }
  if (!last) return std::move(last).error();
  if (first) {
    auto fits = check_size(total_bytes(piece));
    passed_over_ = !fits;
    if (!fits) return std::move(fits).error();
    incoming_.reserve(static_cast<std::size_t>(total_bytes(piece)));
  }
  if (passed_over_) return false;
  incoming_.insert(incoming_.end(), piece.bytes.begin(), piece.bytes.end());
  if (!*last) return false;
  const Bytes whole = std::exchange(incoming_, {});
  if (auto stored = put(*piece.hash, whole); !stored) return std::move(stored).error();
  return true;
}

bool BlobStore::holds(const wire::Hash& hash) const {
  for (const Entry& entry : entries_) {
    if (same(entry.hash, hash)) return true;
  }
  return false;
}

std::optional<PassedBlob> BlobStore::find(const wire::Hash& hash) {
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (!same(at->hash, hash)) continue;
    entries_.splice(entries_.begin(), entries_, at);
    return PassedBlob{hash, at->fd.get(), at->bytes};
  }
  return std::nullopt;
}

std::vector<wire::Hash> named_blobs(const wire::MeasureRequestT& request) {
  std::set<wire::Hash, HashLess> hashes;
  for (const auto& image : request.program->images) {
    if (image->bytes.empty() && image->blob) hashes.insert(*image->blob);
  }
  for (const auto& buffer : request.program->buffers) {
    if (buffer->fill && buffer->fill->kind == wire::FillKind::Blob && buffer->fill->blob) {
      hashes.insert(*buffer->fill->blob);
    }
  }
  for (const auto& expected : request.expected) hashes.insert(*expected->blob);
  return {hashes.begin(), hashes.end()};
}

}  // namespace fettle::agent
