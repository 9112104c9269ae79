// A flat CPU image in memory, executable: bytes copied, relative relocations
// applied, never writable and executable at once.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/loader.h"

namespace fettle::runtime {

// The type of a CPU image's entry points (program.fbs).
using CpuEntry = void (*)(void* const* args, std::int32_t begin, std::int32_t end,
                          std::int32_t thread);

class CpuImage final : public LoadedImage {
 public:
  // LoadError: another architecture, or refused by the kernel.
  static Result<std::unique_ptr<LoadedImage>> load(const wire::ImageT& image, ByteView bytes);
  ~CpuImage() override;
  CpuImage(const CpuImage&) = delete;
  CpuImage& operator=(const CpuImage&) = delete;

  const void* entry(std::uint32_t index) const override { return base_ + entries_[index]; }
  AddressRange code() const override;

 private:
  CpuImage() = default;
  std::uint8_t* base_ = nullptr;
  std::size_t mapped_ = 0;
  std::vector<std::uint64_t> entries_;  // offsets
};

class CpuLoader final : public Loader {
 public:
  Result<std::unique_ptr<LoadedImage>> load(const wire::ImageT& image, ByteView bytes) override {
    return CpuImage::load(image, bytes);
  }
};

}  // namespace fettle::runtime
