// Memory of a CUDA GPU's programs: guard bytes around every buffer, what is only read filled
// by the CPU, uploaded once and shared by all programs that read the same.
#pragma once

#include <list>
#include <memory>

#include "runtime/cuda/cuda_driver.h"
#include "runtime/memory.h"

namespace fettle::runtime {

// A buffer with a guard on both sides. A device has no read-only memory: that guards and inputs
// are as they were is found out by looking (damage).
class CudaBuffer final : public BufferMemory {
 public:
  CUdeviceptr address() const;
  std::uint64_t bytes() const;
  // What it holds now, behind all that was started before.
  Result<void> download(std::span<std::uint8_t> to) const;

  std::span<std::uint8_t> data() const override { return {}; }
  bool read_only() const override;
  AddressRange reserved() const override { return {}; }
  Result<std::string> damage() const override;
  void mend() override;
  Result<void> set(std::uint8_t byte) override;

 private:
  friend class CudaMemory;
  struct Block;
  explicit CudaBuffer(std::shared_ptr<Block> block) : block_(std::move(block)) {}
  std::shared_ptr<Block> block_;
};

class CudaMemory final : public Memory {
 public:
  // `stream` is where kernels run. Keeps at most that many bytes of inputs, and as many of
  // buffers to use again: allocating waits for the device.
  static Result<std::unique_ptr<CudaMemory>> make(const CudaDriver& driver, CUstream stream,
                                                  std::uint64_t kept_bytes);
  ~CudaMemory() override;

  Result<std::unique_ptr<BufferMemory>> take(const wire::BufferT& buffer,
                                             const BlobLookup& blobs) override;
  void give_back(std::unique_ptr<BufferMemory> memory) override;

 private:
  CudaMemory(const CudaDriver& driver, CUstream stream, std::uint64_t kept_bytes);
  struct Filled;
  struct Place;  // where downloads go through: page-locked, which is several times faster

  Result<std::shared_ptr<CudaBuffer::Block>> allocate(const wire::BufferT& buffer);
  Result<std::shared_ptr<CudaBuffer::Block>> filled(const wire::BufferT& buffer,
                                                    const BlobLookup& blobs);

  const CudaDriver& driver_;
  CUstream stream_;
  std::uint64_t kept_bytes_, spare_bytes_ = 0, filled_bytes_ = 0;
  std::shared_ptr<Place> place_;
  std::list<std::shared_ptr<CudaBuffer::Block>> spares_;  // last used first
  std::list<Filled> filled_;                              // last used first
};

}  // namespace fettle::runtime
