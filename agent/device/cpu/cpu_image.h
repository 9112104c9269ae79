// A flat CPU image in memory, executable: bytes copied, relative relocations
// applied, never writable and executable at once.
#pragma once

#include <cstdint>

#include "schemas/program_generated.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

using CpuEntry = void (*)(void* const* args, std::int32_t begin, std::int32_t end,
                          std::int32_t thread);

class CpuImage {
 public:
  // `bytes`: the image's own or its blob's. LoadError: another architecture, or refused
  // by the kernel. The layout was checked (check_program).
  static Result<CpuImage> load(const wire::ImageT& image, ByteView bytes);
  CpuImage(CpuImage&& other) noexcept;
  CpuImage& operator=(CpuImage&& other) noexcept;
  ~CpuImage();
  CpuEntry entry(std::uint64_t offset) const;
  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(base_); }
  std::uintptr_t end() const { return begin() + mapped_; }

 private:
  CpuImage() = default;
  std::uint8_t* base_ = nullptr;
  std::size_t mapped_ = 0;
};

}  // namespace fettle::agent
