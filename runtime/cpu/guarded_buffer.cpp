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

// The data ends where its pages end, as far as the alignment allows, wherever they begin.
GuardedBuffer::Place GuardedBuffer::place(std::uint64_t bytes, std::uint32_t alignment) const {
  const auto end = reinterpret_cast<std::uintptr_t>(mapping_) + mapping_bytes_ - kGuardBytes;
  const std::uintptr_t data = (end / unit_ * unit_ - bytes) / alignment * alignment;
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<std::uint8_t*>(address); };
  return {at(data), at(data / unit_ * unit_), at((data + bytes + unit_ - 1) / unit_ * unit_)};
}

bool GuardedBuffer::use(const Place& place, std::uint64_t bytes, std::uint32_t alignment) {
  const auto size = static_cast<std::size_t>(place.end - place.begin);
  if (mprotect(place.begin, size, PROT_READ | PROT_WRITE) != 0) return false;
  data_ = place.data;
  accessible_ = place.begin;
  end_ = place.end;
  bytes_ = static_cast<std::size_t>(bytes);
  alignment_ = alignment;
  write_sentinels();
  return true;
}

Result<GuardedBuffer> GuardedBuffer::make(std::uint64_t bytes, std::uint32_t alignment) {
  const bool huge = bytes >= kHugeFrom;
  const std::size_t unit = huge ? kHugePage : page_bytes();
  const std::size_t slack = unit + (alignment > unit ? alignment : 0);
  if (bytes > SIZE_MAX / 4) return Error{ErrorCode::OutOfMemory, "buffer over the address space"};
  const auto refused = [&] {
    return Error{ErrorCode::OutOfMemory, "no memory for a buffer of " + std::to_string(bytes) +
                                             " bytes: " + std::strerror(errno)};
  };
  GuardedBuffer out;
  const std::size_t rounded = (static_cast<std::size_t>(bytes) + unit - 1) / unit * unit;
  const std::size_t size = rounded + slack + 2 * kGuardBytes;
  void* at = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return refused();
  out.mapping_ = static_cast<std::uint8_t*>(at);
  out.mapping_bytes_ = size;
  out.unit_ = unit;
  const Place place = out.place(bytes, alignment);
  // Or not: no matter.
  if (huge) {
    madvise(place.begin, static_cast<std::size_t>(place.end - place.begin), MADV_HUGEPAGE);
  }
  if (!out.use(place, bytes, alignment)) return refused();
  out.touched_ = out.accessible_;
  return out;
}

bool GuardedBuffer::suffices(std::uint64_t bytes, std::uint32_t alignment) const {
  const bool huge = bytes >= kHugeFrom;
  if (read_only_ || (unit_ == kHugePage) != huge || bytes > memory_bytes()) return false;
  const Place wanted = place(bytes, alignment);
  return wanted.begin >= touched_ && wanted.end == end_;
}

bool GuardedBuffer::refit(std::uint64_t bytes, std::uint32_t alignment) {
  const Place wanted = place(bytes, alignment);
  // In front of the data the guard begins, whatever lay there before.
  if (wanted.begin > touched_ &&
      mprotect(touched_, static_cast<std::size_t>(wanted.begin - touched_), PROT_NONE) != 0) {
    return false;
  }
  return use(wanted, bytes, alignment);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept { *this = std::move(other); }

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  std::swap(unit_, other.unit_);
  std::swap(touched_, other.touched_);
  std::swap(accessible_, other.accessible_);
  std::swap(end_, other.end_);
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
  return {data_ + bytes_, static_cast<std::size_t>(end_ - (data_ + bytes_))};
}

void GuardedBuffer::make_read_only() {
  mprotect(accessible_, static_cast<std::size_t>(end_ - accessible_), PROT_READ);
  read_only_ = true;
}

void GuardedBuffer::write_sentinels() {
  fill_sentinels(before());
  fill_sentinels(behind());
}

std::string GuardedBuffer::sentinel_damage(std::size_t within) const {
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
  const std::span<std::uint8_t> front = before(), back = behind();
  const std::string behind_it = damage(back.first(std::min(back.size(), within)), false);
  return behind_it.empty() ? damage(front.last(std::min(front.size(), within)), true) : behind_it;
}

}  // namespace fettle::runtime
