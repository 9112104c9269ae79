// PTX and cubins in a GPU: kernels with what each needs of it.
#pragma once

#include <vector>

#include "runtime/cuda/cuda_driver.h"
#include "runtime/loader.h"

namespace fettle::runtime {

// What an entry point of a CudaImage is.
struct CudaKernel {
  CUfunction function = nullptr;
  std::string name;
  int registers = 0, local_bytes = 0, static_shared_bytes = 0;  // of a thread, a thread, a block
  int max_threads = 0;                                          // of a block, with these registers
};

class CudaImage final : public LoadedImage {
 public:
  CudaImage(const CudaDriver& driver, CUmodule module) : driver_(driver), module_(module) {}
  ~CudaImage() override { driver_.call().unload_module(module_); }
  CudaImage(const CudaImage&) = delete;
  CudaImage& operator=(const CudaImage&) = delete;

  const void* entry(std::uint32_t index) const override { return &kernels_[index]; }
  AddressRange code() const override { return {}; }

 private:
  friend class CudaLoader;
  const CudaDriver& driver_;
  CUmodule module_;
  std::vector<CudaKernel> kernels_;
};

// Of ImageKind::Ptx, which the driver compiles, and Cubin.
class CudaLoader final : public Loader {
 public:
  explicit CudaLoader(const CudaDriver& driver) : driver_(driver) {}
  // BuildError with the compiler's log for PTX that it refuses, LoadError for what this GPU or
  // driver does not take.
  Result<std::unique_ptr<LoadedImage>> load(const wire::ImageT& image, ByteView bytes) override;

 private:
  const CudaDriver& driver_;
};

}  // namespace fettle::runtime
