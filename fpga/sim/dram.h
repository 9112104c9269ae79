// The memory beside the simulated accelerator, as its masters see it.
#pragma once

#include <cstdint>
#include <span>

namespace fettle::vta {

class Dram {
 public:
  virtual ~Dram() = default;
  // Whole or not at all; false where there is no memory.
  virtual bool read(std::uint64_t address, std::span<std::uint8_t> to) = 0;
  virtual bool write(std::uint64_t address, std::span<const std::uint8_t> from) = 0;
};

// Bytes of this process at addresses from `base` on. They must outlive it.
class DramImage : public Dram {
 public:
  DramImage(std::uint64_t base, std::span<std::uint8_t> bytes) : base_(base), bytes_(bytes) {}
  bool read(std::uint64_t address, std::span<std::uint8_t> to) override;
  bool write(std::uint64_t address, std::span<const std::uint8_t> from) override;

 private:
  std::uint8_t* find(std::uint64_t address, std::size_t bytes);

  std::uint64_t base_;
  std::span<std::uint8_t> bytes_;
};

}  // namespace fettle::vta
