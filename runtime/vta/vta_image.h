// Images of VTA's instruction streams (schemas/program.fbs says how they lie): read, and held to
// the accelerator's design.
#pragma once

#include <vector>

#include "fpga/isa/encoding.h"
#include "runtime/loader.h"

namespace fettle::runtime {

// What VtaImage::entry() points at: a stream whose addresses are not set yet.
using VtaStream = std::span<const vta::Word>;

class VtaImage final : public LoadedImage {
 public:
  // WrongConfiguration: for another design; Malformed: no whole streams.
  static Result<std::unique_ptr<LoadedImage>> load(const vta::Design& design,
                                                   const wire::ImageT& image, ByteView bytes);
  const void* entry(std::uint32_t index) const override { return &streams_[index]; }
  AddressRange code() const override { return {}; }

 private:
  VtaImage() = default;
  std::vector<vta::Word> words_;
  std::vector<VtaStream> streams_;  // by entry
};

class VtaLoader final : public Loader {
 public:
  explicit VtaLoader(const vta::Design& design) : design_(design) {}
  Result<std::unique_ptr<LoadedImage>> load(const wire::ImageT& image, ByteView bytes) override {
    return VtaImage::load(design_, image, bytes);
  }

 private:
  const vta::Design& design_;
};

}  // namespace fettle::runtime
