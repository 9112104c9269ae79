// Guarded mappings (guarded_buffer.h).
#include "runtime/cpu/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace fettle::runtime {
namespace {

// Wide enough that an overrun by a whole row of most tensors is still told by name.
constexpr std::size_t kGuardBytes = 65536;

// What is no small part of a second-level cache lies in whole huge pages and ends where
// one ends. In small pages, which lie scattered in memory, such a buffer evicts itself from
// caches indexed by physical address, in another way each time; and walks of page tables
// are slow under a hypervisor.
constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Not where addresses are scarce: 32-bit cores of these boards have no such pages.
constexpr std::size_t kHugeFrom = sizeof(void*) == 8 ? std::size_t{128} << 10 : kHugePage;

std::size_t page_bytes() {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return page;
}

// Never the unwritten pattern (0xff or 0xa5 in a row), never constant.
constexpr std::size_t kSentinelPeriod = 256;
std::uint8_t sentinel_byte(const std::uint8_t* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return static_cast<std::uint8_t>(0x5b ^ (address * 37));
}

// Both quickly: beside a buffer in huge pages there may be two megabytes of sentinels.
void fill_sentinels(std::span<std::uint8_t> area) {
  const std::size_t first = std::min(area.size(), kSentinelPeriod);
  for (std::uint8_t& byte : area.first(first)) byte = sentinel_byte(&byte);
  for (std::size_t done = first; done < area.size();) {
    const std::size_t more = std::min(done, area.size() - done);
    std::memcpy(area.data() + done, area.data(), more);
    done += more;
  }
}

bool sentinels_intact(std::span<const std::uint8_t> area) {
  const std::size_t first = std::min(area.size(), kSentinelPeriod);
  for (const std::uint8_t& byte : area.first(first)) {
    if (byte != sentinel_byte(&byte)) return false;
  }
  // Equal to itself a period further on: the period is repeated.
  return std::memcmp(area.data(), area.data() + first, area.size() - first) == 0;
}

}  // namespace

Result<GuardedBuffer> GuardedBuffer::make(std::uint64_t bytes, std::uint32_t alignment) {
  const std::size_t page = page_bytes();
  const bool huge = bytes >= kHugeFrom;
  const std::size_t unit = huge ? kHugePage : page;
  const std::size_t slack = unit + (alignment > unit ? alignment : 0);
  if (bytes > SIZE_MAX / 4) return Error{ErrorCode::OutOfMemory, "buffer over the address space"};
  GuardedBuffer out;
  out.bytes_ = static_cast<std::size_t>(bytes);
  out.alignment_ = alignment;
  const std::size_t rounded = (out.bytes_ + unit - 1) / unit * unit;
  out.mapping_bytes_ = rounded + slack + 2 * kGuardBytes;
  void* at = mmap(nullptr, out.mapping_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    out.mapping_bytes_ = 0;
    return Error{ErrorCode::OutOfMemory, "no memory for a buffer of " + std::to_string(bytes) +
                                             " bytes: " + std::strerror(errno)};
  }
  out.mapping_ = static_cast<std::uint8_t*>(at);
  const auto last =
      (reinterpret_cast<std::uintptr_t>(out.mapping_) + out.mapping_bytes_ - kGuardBytes) / unit *
      unit;
  const std::uintptr_t data = (last - out.bytes_) / alignment * alignment;
  const std::uintptr_t begin = data / unit * unit;
  const std::uintptr_t end = (data + out.bytes_ + unit - 1) / unit * unit;
  out.data_ = reinterpret_cast<std::uint8_t*>(data);
  out.accessible_ = reinterpret_cast<std::uint8_t*>(begin);
  out.accessible_bytes_ = end - begin;
  if (mprotect(out.accessible_, out.accessible_bytes_, PROT_READ | PROT_WRITE) != 0) {
    return Error{ErrorCode::OutOfMemory, "no memory for a buffer of " + std::to_string(bytes) +
                                             " bytes: " + std::strerror(errno)};
  }
  if (huge) madvise(out.accessible_, out.accessible_bytes_, MADV_HUGEPAGE);  // or not: no matter
  out.write_sentinels();
  return out;
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept { *this = std::move(other); }

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  std::swap(accessible_, other.accessible_);
  std::swap(accessible_bytes_, other.accessible_bytes_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(alignment_, other.alignment_);
  std::swap(read_only_, other.read_only_);
  return *this;
}

GuardedBuffer::~GuardedBuffer() {
  if (mapping_bytes_ > 0) munmap(mapping_, mapping_bytes_);
}

std::uintptr_t GuardedBuffer::guard_begin() const {
  return reinterpret_cast<std::uintptr_t>(mapping_);
}
std::uintptr_t GuardedBuffer::guard_end() const { return guard_begin() + mapping_bytes_; }

std::span<std::uint8_t> GuardedBuffer::before() const {
  return {accessible_, static_cast<std::size_t>(data_ - accessible_)};
}

std::span<std::uint8_t> GuardedBuffer::behind() const {
  return {data_ + bytes_,
          static_cast<std::size_t>(accessible_ + accessible_bytes_ - (data_ + bytes_))};
}

void GuardedBuffer::make_read_only() {
  mprotect(accessible_, accessible_bytes_, PROT_READ);
  read_only_ = true;
}

void GuardedBuffer::write_sentinels() {
  fill_sentinels(before());
  fill_sentinels(behind());
}

std::string GuardedBuffer::sentinel_damage() const {
  if (read_only_) return "";
  auto damage = [](std::span<std::uint8_t> area, bool front) -> std::string {
    if (sentinels_intact(area)) return "";
    std::size_t count = 0, nearest = 0;
    for (std::size_t i = 0; i < area.size(); ++i) {
      // Distances count from the data outward.
      const std::size_t at = front ? area.size() - 1 - i : i;
      if (area[at] == sentinel_byte(&area[at])) continue;
      if (count++ == 0) nearest = i;
    }
    return "wrote " + std::to_string(count) + (count == 1 ? " byte " : " bytes ") +
           (front ? "before" : "behind") + " it, the nearest " + std::to_string(nearest + 1) +
           (nearest == 0 ? " byte" : " bytes") + " off its edge";
  };
  const std::string behind_it = damage(behind(), false);
  return behind_it.empty() ? damage(before(), true) : behind_it;
}

}  // namespace fettle::runtime
