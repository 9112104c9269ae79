// Placing a network's buffers (network_memory.h).
#include "runtime/network/network_memory.h"

#include <sys/mman.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace fettle::runtime {
namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
constexpr std::uint64_t kLine = 64;  // no two buffers share a cache line

class Block final : public BufferMemory {
 public:
  Block(std::span<std::uint8_t> data, bool read_only) : data_(data), read_only_(read_only) {}
  std::span<std::uint8_t> data() const override { return data_; }
  bool read_only() const override { return read_only_; }
  AddressRange reserved() const override {
    const auto begin = reinterpret_cast<std::uintptr_t>(data_.data());
    return {begin, begin + data_.size()};
  }
  Result<std::string> damage() const override { return std::string(); }
  void mend() override {}

 private:
  std::span<std::uint8_t> data_;
  bool read_only_;
};

// The blob that can stand for that buffer as it lies there; empty: it needs memory of its own.
ByteView in_place(const wire::BufferT& buffer, const BlobLookup& blobs) {
  if (buffer.role != wire::BufferRole::Constant || !buffer.fill) return {};
  const wire::FillT& fill = *buffer.fill;
  if (fill.kind != wire::FillKind::Blob || !fill.bytes.empty()) return {};
  const ByteView blob = blobs(*fill.blob);
  const bool fits = blob.size() == buffer.bytes &&
                    reinterpret_cast<std::uintptr_t>(blob.data()) % buffer.alignment == 0;
  return fits ? blob : ByteView();
}

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Where the buffer ends that begins at `offset` or soon behind.
std::uint64_t end_of(const wire::BufferT& buffer, std::uint64_t offset) {
  return rounded_up(offset, std::max<std::uint64_t>(buffer.alignment, kLine)) + buffer.bytes;
}

}  // namespace

MemoryNeed NetworkMemory::need(const wire::ProgramT& program, const BlobLookup& blobs) {
  MemoryNeed need;
  for (const auto& buffer : program.buffers) {
    if (const ByteView blob = in_place(*buffer, blobs); !blob.empty()) {
      need.file_bytes += blob.size();
    } else {
      need.own_bytes = end_of(*buffer, need.own_bytes);
    }
  }
  return need;
}

Result<std::unique_ptr<NetworkMemory>> NetworkMemory::make(const wire::ProgramT& program,
                                                           const BlobLookup& blobs) {
  std::unique_ptr<NetworkMemory> out(new NetworkMemory);
  const std::uint64_t bytes = need(program, blobs).own_bytes;
  // A buffer's alignment is at most a huge page.
  const std::uint64_t mapped = rounded_up(bytes, kHugePage) + kHugePage;
  void* at = mapped > SIZE_MAX / 2
                 ? (errno = ENOMEM, MAP_FAILED)
                 : mmap(nullptr, static_cast<std::size_t>(mapped), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    return Error{ErrorCode::OutOfMemory,
                 "no memory for the " + std::to_string(bytes) +
                     " bytes of the network's buffers: " + std::strerror(errno)};
  }
  out->mapping_ = static_cast<std::uint8_t*>(at);
  out->mapping_bytes_ = static_cast<std::size_t>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  out->next_ = out->mapping_ + (rounded_up(address, kHugePage) - address);
  if (bytes >= kHugePage) madvise(out->next_, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  return out;
}

NetworkMemory::~NetworkMemory() {
  if (mapping_bytes_ > 0) munmap(mapping_, mapping_bytes_);
}

Result<std::unique_ptr<BufferMemory>> NetworkMemory::take(const wire::BufferT& buffer,
                                                          const BlobLookup& blobs) {
  if (const ByteView blob = in_place(buffer, blobs); !blob.empty()) {
    // Written to by nobody: its pages are read-only.
    const std::span data(const_cast<std::uint8_t*>(blob.data()), blob.size());
    return std::unique_ptr<BufferMemory>(new Block(data, true));
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping_);
  std::uint8_t* end = mapping_ + (end_of(buffer, reinterpret_cast<std::uintptr_t>(next_)) - begin);
  const std::span data(end - buffer.bytes, static_cast<std::size_t>(buffer.bytes));
  next_ = end;
  if (buffer.fill && buffer.role != wire::BufferRole::Output &&
      buffer.fill->kind != wire::FillKind::Zero) {
    if (auto filled = fill_buffer(*buffer.fill, blobs, data); !filled) {
      return std::move(filled).error();
    }
  }
  return std::unique_ptr<BufferMemory>(new Block(data, false));
}

}  // namespace fettle::runtime
