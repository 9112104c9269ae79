// Handing out guarded buffers (guarded_memory.h).
#include "runtime/cpu/guarded_memory.h"

#include <array>
#include <cstring>

#include "runtime/cpu/copies.h"

namespace fettle::runtime {
namespace {

constexpr std::size_t kMostTooLarge = 4;  // times the bytes of a buffer that takes a spare's pages
// An overrun by a row of most tensors. Beside a buffer in huge pages there may be two megabytes of
// sentinels: to read them takes as long as a small kernel.
constexpr std::size_t kClose = 65536;

}  // namespace

// Shared and read-only, or its program's own; the first copy, or the others of a buffer.
struct GuardedMemory::Part {
  std::shared_ptr<const GuardedBuffer> shared;
  std::unique_ptr<GuardedBuffer> own;

  const GuardedBuffer& buffer() const { return own ? *own : *shared; }
  std::string damage(std::size_t within = SIZE_MAX) const {
    return own ? own->sentinel_damage(within) : "";
  }
  void mend() const {
    if (own) own->write_sentinels();
  }
};

class GuardedMemory::Block final : public BufferMemory {
 public:
  explicit Block(Part first) : first_(std::move(first)) {}
  Block(Part first, Part others, std::uint32_t copies, std::uint64_t stride)
      : first_(std::move(first)), others_(std::move(others)), copies_(copies), stride_(stride) {}

  std::span<std::uint8_t> data() const override { return first_.buffer().data(); }
  bool read_only() const override { return first_.buffer().read_only(); }
  AddressRange reserved() const override {
    return {first_.buffer().guard_begin(), first_.buffer().guard_end()};
  }
  Result<std::string> damage() const override {
    std::string found = first_.damage();
    return found.empty() ? others_.damage() : found;
  }
  Result<std::string> close_damage() const override {
    std::string found = first_.damage(kClose);
    return found.empty() ? others_.damage(kClose) : found;
  }
  void mend() override {
    first_.mend();
    others_.mend();
  }
  std::uint32_t copies() const override { return copies_; }
  std::uint8_t* copy(std::uint32_t index) const override {
    return index == 0 ? data().data() : others_.buffer().data().data() + (index - 1) * stride_;
  }
  std::array<std::unique_ptr<GuardedBuffer>, 2> release() {
    return {std::move(first_.own), std::move(others_.own)};
  }

 private:
  Part first_, others_;  // the latter empty without copies
  std::uint32_t copies_ = 1;
  std::uint64_t stride_ = 0;  // of the others
};

bool GuardedMemory::drop_kept() {
  const bool spares = !spares_.empty();
  spares_.clear();
  spare_bytes_ = 0;
  return fills_.drop_unused() || spares;
}

// What is kept for later programs is no reason to refuse this one.
Result<GuardedMemory::Part> GuardedMemory::take_part(const wire::BufferT& buffer,
                                                     const BlobLookup& blobs,
                                                     std::uint32_t copies) {
  auto part = try_part(buffer, blobs, copies);
  if (part || part.error().code != ErrorCode::OutOfMemory || !drop_kept()) return part;
  return try_part(buffer, blobs, copies);
}

Result<GuardedMemory::Part> GuardedMemory::try_part(const wire::BufferT& buffer,
                                                    const BlobLookup& blobs, std::uint32_t copies) {
  if (buffer.role == wire::BufferRole::Input || buffer.role == wire::BufferRole::Constant) {
    auto filled = fills_.get(buffer, blobs, copies);
    if (!filled) return std::move(filled).error();
    return Part{std::move(*filled), nullptr};
  }
  auto own = take_spare(copies_bytes(buffer.bytes, buffer.alignment, copies), buffer.alignment);
  if (!own) return std::move(own).error();
  const auto data = (*own)->data();
  if (buffer.role == wire::BufferRole::Scratch && buffer.fill) {
    auto filled = fill_copies(*buffer.fill, blobs, data, buffer, copies);
    if (!filled) return std::move(filled).error();
  } else {
    // Nothing of an earlier program may pass for this one's work.
    std::memset(data.data(), unwritten_byte(buffer), data.size());
  }
  return Part{nullptr, std::move(*own)};
}

Result<std::unique_ptr<BufferMemory>> GuardedMemory::take(const wire::BufferT& buffer,
                                                          const BlobLookup& blobs) {
  auto part = take_part(buffer, blobs, 1);
  if (!part) return std::move(part).error();
  return std::unique_ptr<BufferMemory>(new Block(std::move(*part)));
}

Result<std::unique_ptr<BufferMemory>> GuardedMemory::take_copies(const wire::BufferT& buffer,
                                                                 const BlobLookup& blobs,
                                                                 std::uint32_t copies) {
  if (copies == 1) return take(buffer, blobs);
  auto first = take_part(buffer, blobs, 1);
  if (!first) return std::move(first).error();
  auto others = take_part(buffer, blobs, copies - 1);
  if (!others) return std::move(others).error();
  return std::unique_ptr<BufferMemory>(new Block(std::move(*first), std::move(*others), copies,
                                                 copy_stride(buffer.bytes, buffer.alignment)));
}

void GuardedMemory::give_back(std::unique_ptr<BufferMemory> memory) {
  for (auto& buffer : static_cast<Block&>(*memory).release()) {
    if (!buffer) continue;
    spare_bytes_ += buffer->memory_bytes();
    spares_.push_front(std::move(buffer));
  }
  while (spare_bytes_ > kept_bytes_) {
    spare_bytes_ -= spares_.back()->memory_bytes();
    spares_.pop_back();
  }
}

// One of this size; else the smallest whose pages suffice, and are not far too many.
std::list<std::unique_ptr<GuardedBuffer>>::iterator GuardedMemory::best_spare(
    std::uint64_t bytes, std::uint32_t alignment) {
  auto best = spares_.end();
  for (auto at = spares_.begin(); at != spares_.end(); ++at) {
    const GuardedBuffer& spare = **at;
    if (spare.data().size() == bytes && spare.alignment() == alignment) return at;
    const std::size_t pages = spare.memory_bytes();
    if (pages / kMostTooLarge > bytes || !spare.suffices(bytes, alignment)) continue;
    if (best == spares_.end() || pages < (*best)->memory_bytes()) best = at;
  }
  return best;
}

Result<std::unique_ptr<GuardedBuffer>> GuardedMemory::take_spare(std::uint64_t bytes,
                                                                 std::uint32_t alignment) {
  if (const auto at = best_spare(bytes, alignment); at != spares_.end()) {
    auto found = std::move(*at);
    spare_bytes_ -= found->memory_bytes();
    spares_.erase(at);
    const bool same = found->data().size() == bytes && found->alignment() == alignment;
    if (same || found->refit(bytes, alignment)) return found;
  }
  auto made = GuardedBuffer::make(bytes, alignment);
  if (!made) return std::move(made).error();
  return std::make_unique<GuardedBuffer>(std::move(*made));
}

}  // namespace fettle::runtime
