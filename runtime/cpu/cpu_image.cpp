// Mapping flat images (cpu_image.h).
#include "runtime/cpu/cpu_image.h"

#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <string>

#include "runtime/cpu/code_memory.h"
#include "schemas/wire/native_arch.h"

namespace fettle::runtime {

Result<std::unique_ptr<LoadedImage>> CpuImage::load(const wire::ImageT& image, ByteView bytes) {
  const wire::CpuLayoutT& layout = *image.cpu;
  if (layout.arch != native_arch()) {
    return Error{ErrorCode::LoadError,
                 "the image is for " + layout.arch + ", this CPU is " + native_arch()};
  }
  if (bytes.size() > layout.memory_bytes || layout.memory_bytes == 0) {
    return Error{ErrorCode::LoadError, "the image has " + std::to_string(bytes.size()) +
                                           " bytes for " + std::to_string(layout.memory_bytes) +
                                           " bytes of memory"};
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::unique_ptr<CpuImage> out(new CpuImage);
  for (const auto& entry : image.entries) out->entries_.push_back(entry->offset);
  out->mapped_ = (static_cast<std::size_t>(layout.memory_bytes) + page - 1) / page * page;
  out->base_ = take_code_memory(out->mapped_);
  if (out->base_ == nullptr) {
    return Error{ErrorCode::OutOfMemory, std::string("mapping the image: ") + std::strerror(errno)};
  }
  std::memcpy(out->base_, bytes.data(), bytes.size());
  for (const std::uint64_t offset : layout.relocations) {
    std::uintptr_t word;  // pointer-sized on this architecture, as check_program knows
    std::memcpy(&word, out->base_ + offset, sizeof word);
    word += reinterpret_cast<std::uintptr_t>(out->base_);
    std::memcpy(out->base_ + offset, &word, sizeof word);
  }
  const std::size_t text = (static_cast<std::size_t>(layout.text_bytes) + page - 1) / page * page;
  // Arm needs the flush although emulators do without->
  __builtin___clear_cache(reinterpret_cast<char*>(out->base_),
                          reinterpret_cast<char*>(out->base_) + out->mapped_);
  if (text > 0 && mprotect(out->base_, text, PROT_READ | PROT_EXEC) != 0) {
    return Error{ErrorCode::LoadError,
                 std::string("making the image executable: ") + std::strerror(errno)};
  }
  return std::unique_ptr<LoadedImage>(std::move(out));
}

CpuImage::~CpuImage() {
  if (base_ != nullptr) give_back_code_memory(base_, mapped_);
}

AddressRange CpuImage::code() const {
  const auto begin = reinterpret_cast<std::uintptr_t>(base_);
  return {begin, begin + mapped_};
}

}  // namespace fettle::runtime
