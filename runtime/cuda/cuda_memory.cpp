// Handing out guarded device memory (cuda_memory.h).
#include "runtime/cuda/cuda_memory.h"

#include <algorithm>
#include <cstring>

#include "runtime/guard.h"

namespace fettle::runtime {
namespace {

// A whole guard fits.
constexpr std::uint64_t kPlaceBytes = std::uint64_t{1} << 20;

}  // namespace

struct CudaMemory::Place {
  std::uint8_t* bytes = nullptr;  // kPlaceBytes; the driver's until the process ends
};

struct CudaBuffer::Block {
  const CudaDriver* driver;
  CUstream stream;
  std::uint8_t* place;
  CUdeviceptr base = 0;
  std::uint64_t front = 0;  // bytes before the data, the last kGuardBytes of them a guard
  std::uint64_t bytes = 0, total = 0;
  std::uint32_t alignment = 1;
  std::uint8_t guard = 0;                  // each of its bytes
  std::shared_ptr<const Bytes> only_read;  // what it must hold; null: anything

  ~Block() {
    if (base != 0) driver->call().free(base);
  }
  CUdeviceptr data() const { return base + front; }

  // In pieces, each shown as it comes: look(bytes, offset of the piece) until it returns false.
  template <typename Look>
  Result<void> each_piece(CUdeviceptr from, std::uint64_t count, Look look) const {
    for (std::uint64_t at = 0; at < count; at += kPlaceBytes) {
      const std::uint64_t n = std::min(kPlaceBytes, count - at);
      auto done = driver->check(driver->call().download(place, from + at, n), "cuMemcpyDtoH");
      if (!done) return done;
      if (!look(std::span<const std::uint8_t>(place, n), at)) break;
    }
    return {};
  }
  Result<void> write_guards() const {
    auto set = driver->check(
        driver->call().set_bytes(data() - kGuardBytes, guard, kGuardBytes, stream), "cuMemsetD8");
    if (!set) return set;
    return driver->check(driver->call().set_bytes(data() + bytes, guard, kGuardBytes, stream),
                         "cuMemsetD8");
  }
  Result<void> set(std::uint8_t byte) const {
    return driver->check(driver->call().set_bytes(data(), byte, bytes, stream), "cuMemsetD8");
  }
  Result<void> upload(ByteView from) const {
    return driver->check(driver->call().upload(data(), from.data(), from.size()), "cuMemcpyHtoD");
  }
};

CUdeviceptr CudaBuffer::address() const { return block_->data(); }
std::uint64_t CudaBuffer::bytes() const { return block_->bytes; }
bool CudaBuffer::read_only() const { return block_->only_read != nullptr; }

Result<void> CudaBuffer::download(std::span<std::uint8_t> to) const {
  return block_->each_piece(block_->data(), std::min<std::uint64_t>(to.size(), block_->bytes),
                            [&](std::span<const std::uint8_t> piece, std::uint64_t at) {
                              std::memcpy(to.data() + at, piece.data(), piece.size());
                              return true;
                            });
}

Result<std::string> CudaBuffer::damage() const {
  std::string found;
  for (const bool behind : {true, false}) {
    const auto from = behind ? block_->data() + block_->bytes : block_->data() - kGuardBytes;
    auto looked =
        block_->each_piece(from, kGuardBytes, [&](std::span<const std::uint8_t> piece, auto) {
          found = guard_damage(piece, block_->guard, behind);
          return true;
        });
    if (!looked) return std::move(looked).error();
    if (!found.empty()) return found;
  }
  if (!block_->only_read) return found;
  auto looked = block_->each_piece(
      block_->data(), block_->bytes, [&](std::span<const std::uint8_t> piece, std::uint64_t at) {
        found = input_damage(piece, ByteView(*block_->only_read).subspan(at), at);
        return found.empty();
      });
  if (!looked) return std::move(looked).error();
  return found;
}

// What fails here fails again at the next call that can say so.
void CudaBuffer::mend() {
  (void)!block_->write_guards();
  if (block_->only_read) (void)!block_->upload(*block_->only_read);
}

Result<void> CudaBuffer::set(std::uint8_t byte) { return block_->set(byte); }

struct CudaMemory::Filled {
  wire::FillT fill;
  std::shared_ptr<CudaBuffer::Block> block;
};

CudaMemory::CudaMemory(const CudaDriver& driver, CUstream stream, std::uint64_t kept_bytes)
    : driver_(driver), stream_(stream), kept_bytes_(kept_bytes), place_(new Place) {}
CudaMemory::~CudaMemory() = default;

Result<std::unique_ptr<CudaMemory>> CudaMemory::make(const CudaDriver& driver, CUstream stream,
                                                     std::uint64_t kept_bytes) {
  std::unique_ptr<CudaMemory> out(new CudaMemory(driver, stream, kept_bytes));
  void* place = nullptr;
  if (auto made = driver.check(driver.call().allocate_host(&place, kPlaceBytes), "cuMemAllocHost");
      !made) {
    return std::move(made).error();
  }
  out->place_->bytes = static_cast<std::uint8_t*>(place);
  return out;
}

Result<std::shared_ptr<CudaBuffer::Block>> CudaMemory::allocate(const wire::BufferT& buffer) {
  auto block = std::make_shared<CudaBuffer::Block>();
  block->driver = &driver_;
  block->stream = stream_;
  block->place = place_->bytes;
  block->bytes = buffer.bytes;
  block->guard = guard_byte(buffer.role);
  block->alignment = std::max(buffer.alignment, 256u);  // as every allocation has
  block->total = kGuardBytes + block->alignment + buffer.bytes + kGuardBytes;
  if (auto made = driver_.check(driver_.call().allocate(&block->base, block->total), "cuMemAlloc");
      !made) {
    // Kept for later programs only; this one needs it now.
    if (spares_.empty() || made.error().code != ErrorCode::OutOfMemory) {
      return std::move(made).error();
    }
    spares_.clear();
    spare_bytes_ = 0;
    return allocate(buffer);
  }
  const CUdeviceptr data =
      (block->base + kGuardBytes + block->alignment - 1) / block->alignment * block->alignment;
  block->front = data - block->base;
  if (auto set = block->write_guards(); !set) return std::move(set).error();
  return block;
}

// What is in use is never dropped; the longest unused goes first.
Result<std::shared_ptr<CudaBuffer::Block>> CudaMemory::filled(const wire::BufferT& buffer,
                                                              const BlobLookup& blobs) {
  const wire::FillT fill = buffer.fill ? *buffer.fill : wire::FillT();
  for (auto at = filled_.begin(); at != filled_.end(); ++at) {
    if (at->block->bytes == buffer.bytes && at->block->alignment >= buffer.alignment &&
        same_fill(at->fill, fill)) {
      filled_.splice(filled_.begin(), filled_, at);
      return at->block;
    }
  }
  auto bytes = std::make_shared<Bytes>(buffer.bytes);
  if (auto made = fill_buffer(fill, blobs, *bytes); !made) return std::move(made).error();
  for (auto at = filled_.end();
       at != filled_.begin() && filled_bytes_ + buffer.bytes > kept_bytes_;) {
    --at;
    if (at->block.use_count() > 1) continue;
    filled_bytes_ -= at->block->bytes;
    at = filled_.erase(at);
  }
  auto block = allocate(buffer);
  if (!block) return std::move(block).error();
  if (auto done = (*block)->upload(*bytes); !done) return std::move(done).error();
  (*block)->only_read = std::move(bytes);
  filled_bytes_ += buffer.bytes;
  filled_.push_front({fill, *block});
  return *block;
}

Result<std::unique_ptr<BufferMemory>> CudaMemory::take(const wire::BufferT& buffer,
                                                       const BlobLookup& blobs) {
  using Taken = std::unique_ptr<BufferMemory>;
  if (buffer.role == wire::BufferRole::Input || buffer.role == wire::BufferRole::Constant) {
    auto block = filled(buffer, blobs);
    if (!block) return std::move(block).error();
    return Taken(new CudaBuffer(std::move(*block)));
  }
  std::shared_ptr<CudaBuffer::Block> block;
  for (auto at = spares_.begin(); !block && at != spares_.end(); ++at) {
    if ((*at)->bytes != buffer.bytes || (*at)->alignment < buffer.alignment) continue;
    block = std::move(*at);
    spare_bytes_ -= block->total;
    spares_.erase(at);
    break;
  }
  if (!block) {
    auto made = allocate(buffer);
    if (!made) return std::move(made).error();
    block = std::move(*made);
  }
  if (buffer.role == wire::BufferRole::Scratch && buffer.fill) {
    Bytes bytes(buffer.bytes);
    if (auto made = fill_buffer(*buffer.fill, blobs, bytes); !made) return std::move(made).error();
    if (auto done = block->upload(bytes); !done) return std::move(done).error();
  } else {
    // Nothing of an earlier program may pass for this one's work.
    if (auto set = block->set(unwritten_byte(buffer)); !set) return std::move(set).error();
  }
  return Taken(new CudaBuffer(std::move(block)));
}

void CudaMemory::give_back(std::unique_ptr<BufferMemory> memory) {
  auto block = std::move(static_cast<CudaBuffer&>(*memory).block_);
  if (block->only_read) return;
  spare_bytes_ += block->total;
  spares_.push_front(std::move(block));
  while (spare_bytes_ > kept_bytes_) {
    spare_bytes_ -= spares_.back()->total;
    spares_.pop_back();
  }
}

}  // namespace fettle::runtime
