// Loads one flat image and runs launches on buffers; a static program for qemu-user.
// Knows nothing of fettle: it reads native-endian 64-bit words and bytes from
// standard input and writes all buffers to standard output.
//   image: text_bytes data_offset memory_bytes, n bytes, n relocations
//   buffers: count, each: alignment, n bytes
//   launches: count, each: entry offset, extent, threads, n buffer indices
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

void need(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "image_runner: %s\n", what);
  std::exit(1);
}

std::uint64_t word() {
  std::uint64_t value = 0;
  need(std::fread(&value, sizeof value, 1, stdin) == 1, "input ends early");
  return value;
}

void bytes(void* to, std::size_t count) {
  need(count == 0 || std::fread(to, 1, count, stdin) == count, "input ends early");
}

using Entry = void (*)(void* const*, std::int32_t, std::int32_t, std::int32_t);

}  // namespace

int main() {
  const std::uint64_t text_bytes = word();
  word();  // data_offset: all of it is writable until the text is protected
  const std::uint64_t memory_bytes = word();
  auto* base = static_cast<char*>(
      mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  need(base != MAP_FAILED, "no memory for the image");
  bytes(base, word());
  for (std::uint64_t left = word(); left > 0; --left) {
    std::uintptr_t value = 0;
    char* at = base + word();
    std::memcpy(&value, at, sizeof value);
    value += reinterpret_cast<std::uintptr_t>(base);
    std::memcpy(at, &value, sizeof value);
  }
  need(mprotect(base, text_bytes, PROT_READ | PROT_EXEC) == 0, "mprotect");
  __builtin___clear_cache(base, base + text_bytes);

  std::vector<std::pair<void*, std::size_t>> buffers(word());
  for (auto& [at, size] : buffers) {
    const std::uint64_t alignment = word();
    size = word();
    need(posix_memalign(&at, alignment < 64 ? 64 : alignment, size + 1) == 0,
         "no memory for a buffer");
    bytes(at, size);
  }
  for (std::uint64_t left = word(); left > 0; --left) {
    auto entry = reinterpret_cast<Entry>(base + word());
    const auto extent = static_cast<std::int64_t>(word());
    const auto threads = static_cast<std::int64_t>(word());
    std::vector<void*> args(word());
    for (void*& arg : args) arg = buffers.at(word()).first;
    for (std::int64_t thread = 0; thread < threads; ++thread) {
      const auto begin = static_cast<std::int32_t>(extent * thread / threads);
      const auto end = static_cast<std::int32_t>(extent * (thread + 1) / threads);
      if (begin < end) entry(args.data(), begin, end, static_cast<std::int32_t>(thread));
    }
  }
  for (const auto& [at, size] : buffers) {
    need(std::fwrite(at, 1, size, stdout) == size, "output refused");
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
