// Memory of an OpenCL device's programs: guard bytes around every buffer, what is only read
// filled by the CPU, written once and shared by all programs that read the same.
#pragma once

#include <list>
#include <memory>

#include "runtime/memory.h"
#include "runtime/opencl/opencl_driver.h"

namespace fettle::runtime {

// A buffer as an image of texels, four elements each.
struct OpenClTexels {
  cl_mem image;  // of all that was allocated: pieces of buffers no image may be over, on some
  cl_int begin;  // the texel at which the data begin
};

class OpenClBuffer final : public BufferMemory {
 public:
  ~OpenClBuffer() override;
  OpenClBuffer(const OpenClBuffer&) = delete;
  OpenClBuffer& operator=(const OpenClBuffer&) = delete;

  std::uint64_t bytes() const;
  // The data from that byte on, as a kernel's argument; the buffer's own. InvalidArgument when
  // the device cannot begin one there.
  Result<cl_mem> argument(std::uint64_t offset);
  // The data from that byte on as texels of float16 or float32, for kernels that only read them;
  // the buffer's own. `most`: texels of an image over a buffer. OutOfResources: there are more.
  Result<OpenClTexels> texels(bool halves, std::uint64_t offset, std::uint64_t most);
  // What it holds now, behind all that was started before.
  Result<void> download(std::span<std::uint8_t> to) const;

  std::span<std::uint8_t> data() const override { return {}; }
  bool read_only() const override;
  AddressRange reserved() const override { return {}; }
  Result<std::string> damage() const override;
  void mend() override;
  Result<void> set(std::uint8_t byte) override;

 private:
  friend class OpenClMemory;
  struct Block;
  explicit OpenClBuffer(std::shared_ptr<Block> block) : block_(std::move(block)) {}
  std::shared_ptr<Block> block_;
  std::vector<cl_mem> arguments_;
};

class OpenClMemory final : public Memory {
 public:
  // Buffers begin at multiples of `alignment` bytes. Keeps at most `kept_bytes` of inputs, and
  // as many of buffers to use again.
  OpenClMemory(const OpenClQueue& queue, std::uint64_t alignment, std::uint64_t kept_bytes);
  ~OpenClMemory() override;

  Result<std::unique_ptr<BufferMemory>> take(const wire::BufferT& buffer,
                                             const BlobLookup& blobs) override;
  void give_back(std::unique_ptr<BufferMemory> memory) override;

 private:
  struct Filled;
  Result<std::shared_ptr<OpenClBuffer::Block>> allocate(const wire::BufferT& buffer);
  Result<std::shared_ptr<OpenClBuffer::Block>> filled(const wire::BufferT& buffer,
                                                      const BlobLookup& blobs);

  const OpenClQueue& queue_;
  std::uint64_t alignment_, kept_bytes_, spare_bytes_ = 0, filled_bytes_ = 0;
  std::list<std::shared_ptr<OpenClBuffer::Block>> spares_;  // last used first
  std::list<Filled> filled_;                                // last used first
};

}  // namespace fettle::runtime
