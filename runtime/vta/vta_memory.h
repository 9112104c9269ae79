// Buffers in an accelerator's memory, with guards around each.
#pragma once

#include "runtime/memory.h"
#include "runtime/vta/arena.h"

namespace fettle::runtime {

// Where buffers begin: every element of every design is aligned there, and bursts, which end at
// such addresses, are cut alike wherever a program lies.
inline constexpr std::uint64_t kVtaBufferAlignment = 4096;

class VtaBuffer final : public BufferMemory {
 public:
  VtaBuffer(const wire::BufferT& buffer, Arena::Piece piece);

  std::span<std::uint8_t> data() const override { return data_; }
  bool read_only() const override { return read_only_; }
  AddressRange reserved() const override;
  Result<std::string> damage() const override;
  void mend() override;

  const std::string& name() const { return name_; }  // "output buffer 'result'"
  std::uint64_t address() const;                     // the accelerator's

 private:
  std::span<std::uint8_t> before() const;
  std::span<std::uint8_t> behind() const;

  Arena::Piece piece_;
  std::span<std::uint8_t> data_;
  std::string name_;
  wire::BufferRole role_;
  bool read_only_;  // by streams
};

class VtaMemory final : public Memory {
 public:
  explicit VtaMemory(Arena& arena) : arena_(arena) {}
  // One behind the other, in the order in which they are taken.
  Result<std::unique_ptr<BufferMemory>> take(const wire::BufferT& buffer,
                                             const BlobLookup& blobs) override;
  void give_back(std::unique_ptr<BufferMemory> memory) override { memory.reset(); }

 private:
  Arena& arena_;
};

}  // namespace fettle::runtime
