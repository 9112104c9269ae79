// Handing out guarded buffers (guarded_memory.h).
#include "runtime/cpu/guarded_memory.h"

#include <cstring>

namespace fettle::runtime {

// Shared and read-only, or its program's own.
class GuardedMemory::Block final : public BufferMemory {
 public:
  explicit Block(std::shared_ptr<const GuardedBuffer> shared) : shared_(std::move(shared)) {}
  explicit Block(std::unique_ptr<GuardedBuffer> own) : own_(std::move(own)) {}

  std::span<std::uint8_t> data() const override { return buffer().data(); }
  bool read_only() const override { return buffer().read_only(); }
  AddressRange reserved() const override { return {buffer().guard_begin(), buffer().guard_end()}; }
  Result<std::string> damage() const override {
    return own_ ? own_->sentinel_damage() : std::string();
  }
  void mend() override {
    if (own_) own_->write_sentinels();
  }
  std::unique_ptr<GuardedBuffer> release() { return std::move(own_); }

 private:
  const GuardedBuffer& buffer() const { return own_ ? *own_ : *shared_; }
  std::shared_ptr<const GuardedBuffer> shared_;
  std::unique_ptr<GuardedBuffer> own_;
};

Result<std::unique_ptr<BufferMemory>> GuardedMemory::take(const wire::BufferT& buffer,
                                                          const BlobLookup& blobs) {
  if (buffer.role == wire::BufferRole::Input || buffer.role == wire::BufferRole::Constant) {
    auto filled = fills_.get(buffer, blobs);
    if (!filled) return std::move(filled).error();
    return std::unique_ptr<BufferMemory>(new Block(std::move(*filled)));
  }
  auto own = take_spare(buffer);
  if (!own) return std::move(own).error();
  const auto data = (*own)->data();
  if (buffer.role == wire::BufferRole::Scratch && buffer.fill) {
    if (auto filled = fill_buffer(*buffer.fill, blobs, data); !filled) {
      return std::move(filled).error();
    }
  } else {
    // Nothing of an earlier program may pass for this one's work.
    const auto type = buffer.fill ? buffer.fill->dtype : wire::ScalarType::Float32;
    std::memset(data.data(), unwritten_byte(type), data.size());
  }
  return std::unique_ptr<BufferMemory>(new Block(std::move(*own)));
}

void GuardedMemory::give_back(std::unique_ptr<BufferMemory> memory) {
  auto buffer = static_cast<Block&>(*memory).release();
  if (!buffer) return;
  spare_bytes_ += buffer->memory_bytes();
  spares_.push_front(std::move(buffer));
  while (spare_bytes_ > kept_bytes_) {
    spare_bytes_ -= spares_.back()->memory_bytes();
    spares_.pop_back();
  }
}

Result<std::unique_ptr<GuardedBuffer>> GuardedMemory::take_spare(const wire::BufferT& buffer) {
  for (auto at = spares_.begin(); at != spares_.end(); ++at) {
    if ((*at)->data().size() == buffer.bytes && (*at)->alignment() == buffer.alignment) {
      auto found = std::move(*at);
      spare_bytes_ -= found->memory_bytes();
      spares_.erase(at);
      return found;
    }
  }
  auto made = GuardedBuffer::make(buffer.bytes, buffer.alignment);
  if (!made) return std::move(made).error();
  return std::make_unique<GuardedBuffer>(std::move(*made));
}

}  // namespace fettle::runtime
