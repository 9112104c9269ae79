// Images of a program, ready to run: one Loader per kind of image.
#pragma once

#include <memory>

#include "runtime/memory.h"
#include "schemas/wire/codec.h"

namespace fettle::runtime {

class LoadedImage {
 public:
  virtual ~LoadedImage() = default;
  // The entry point of that index; what it points at is between loader and executor of a kind.
  virtual const void* entry(std::uint32_t index) const = 0;
  // Where it lies in the CPU's address space; empty when it does not.
  virtual AddressRange code() const = 0;
};

class Loader {
 public:
  virtual ~Loader() = default;
  // `bytes`: the image's own or its blob's. LoadError when this machine cannot load it. The
  // program was checked (check_program).
  virtual Result<std::unique_ptr<LoadedImage>> load(const wire::ImageT& image, ByteView bytes) = 0;
};

}  // namespace fettle::runtime
