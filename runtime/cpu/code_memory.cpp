// One region for machine code (code_memory.h).
#include "runtime/cpu/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace fettle::runtime {
namespace {

struct Arena {
  std::mutex mutex;
  AddressRange range{0, 0};
  std::map<std::uintptr_t, std::size_t> taken;  // bytes by address
};

Arena& arena() {
  static Arena it;
  return it;
}

constexpr int kUnused = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

}  // namespace

Result<AddressRange> reserve_code_arena() {
  Arena& a = arena();
  const std::lock_guard hold(a.mutex);
  if (a.range.begin != 0) return a.range;
  constexpr std::size_t both = 2 * kCodeArenaBytes;
  const auto crosses = [](std::uintptr_t at) {
    return std::uint64_t{at} >> 32 != (std::uint64_t{at} + both - 1) >> 32;
  };
  void* first = mmap(nullptr, both, PROT_NONE, kUnused, -1, 0);
  void* kept = first;
  // Two in a row do not both lie across a border of 4 GiB.
  if (first != MAP_FAILED && crosses(reinterpret_cast<std::uintptr_t>(first))) {
    kept = mmap(nullptr, both, PROT_NONE, kUnused, -1, 0);
    munmap(first, both);
  }
  if (kept == MAP_FAILED) {
    return Error{ErrorCode::OutOfMemory,
                 std::string("reserving room for machine code: ") + std::strerror(errno)};
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(kept);
  a.range = {begin, begin + kCodeArenaBytes};
  return a.range;
}

AddressRange code_arena() {
  const std::lock_guard hold(arena().mutex);
  return arena().range;
}

std::uint8_t* take_code_memory(std::size_t bytes) {
  constexpr int kOwn = MAP_PRIVATE | MAP_ANONYMOUS;
  Arena& a = arena();
  const std::lock_guard hold(a.mutex);
  if (a.range.begin == 0) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kOwn, -1, 0);
    return at == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(at);
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::uintptr_t begin = a.range.begin + page;
  for (const auto& [address, length] : a.taken) {
    if (address - begin >= bytes + page) break;
    begin = address + length + page;
  }
  if (begin > a.range.end || a.range.end - begin < bytes) {
    errno = ENOMEM;
    return nullptr;
  }
  void* at =
      mmap(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE, kOwn | MAP_FIXED, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  a.taken[begin] = bytes;
  return static_cast<std::uint8_t*>(at);
}

void give_back_code_memory(std::uint8_t* memory, std::size_t bytes) {
  Arena& a = arena();
  const std::lock_guard hold(a.mutex);
  if (a.taken.erase(reinterpret_cast<std::uintptr_t>(memory)) == 0) {
    munmap(memory, bytes);
    return;
  }
  mmap(memory, bytes, PROT_NONE, kUnused | MAP_FIXED, -1, 0);
}

}  // namespace fettle::runtime
