// Cached fills (fill_cache.h).
#include "runtime/cpu/fill_cache.h"

#include "runtime/cpu/copies.h"

namespace fettle::runtime {

void FillCache::shrink(std::uint64_t needed) {
  for (auto at = entries_.end(); at != entries_.begin() && held_bytes_ + needed > limit_bytes_;) {
    --at;
    if (at->buffer.use_count() > 1) continue;
    held_bytes_ -= at->buffer->memory_bytes();
    at = entries_.erase(at);
  }
}

bool FillCache::drop_unused() {
  const std::size_t before = entries_.size();
  for (auto at = entries_.begin(); at != entries_.end();) {
    const bool used = at->buffer.use_count() > 1;
    if (!used) held_bytes_ -= at->buffer->memory_bytes();
    at = used ? std::next(at) : entries_.erase(at);
  }
  return entries_.size() < before;
}

Result<std::shared_ptr<const GuardedBuffer>> FillCache::get(const wire::BufferT& buffer,
                                                            const BlobLookup& blobs,
                                                            std::uint32_t copies) {
  const wire::FillT fill = buffer.fill ? *buffer.fill : wire::FillT();
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (at->bytes == buffer.bytes && at->alignment == buffer.alignment && at->copies == copies &&
        same_fill(at->fill, fill)) {
      entries_.splice(entries_.begin(), entries_, at);
      return at->buffer;
    }
  }
  auto made =
      GuardedBuffer::make(copies_bytes(buffer.bytes, buffer.alignment, copies), buffer.alignment);
  if (!made) return std::move(made).error();
  shrink(made->memory_bytes());
  auto filled = fill_copies(fill, blobs, made->data(), buffer, copies);
  if (!filled) return std::move(filled).error();
  made->make_read_only();
  held_bytes_ += made->memory_bytes();
  entries_.push_front({buffer.bytes, buffer.alignment, copies, fill,
                       std::make_shared<const GuardedBuffer>(std::move(*made))});
  return entries_.front().buffer;
}

}  // namespace fettle::runtime
