// Registers in the programmable logic, mapped into this process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/platform/system_root.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

// A map of a UIO device, as /sys/class/uio tells it.
struct UioMap {
  std::string device;  // "uio0": /dev/uio0
  std::uint64_t address = 0, bytes = 0;
  std::uint64_t offset = 0;  // where mmap finds it: a page for each map before it
};
// Of all devices, in their order.
std::vector<UioMap> uio_maps(const SystemRoot& root);

// Registers at offsets within a window, multiples of 4. An access while the PL is not operating may
// hang the whole board.
class Registers {
 public:
  virtual ~Registers() = default;
  virtual std::uint32_t read(std::uint32_t offset) = 0;
  virtual void write(std::uint32_t offset, std::uint32_t value) = 0;
};

// `bytes` from the physical address on, by the UIO device that has them, else by /dev/mem. Io, with
// the system's reason for each.
Result<std::unique_ptr<Registers>> map_registers(const SystemRoot& root, std::uint64_t address,
                                                 std::uint32_t bytes);
using MapRegisters = std::function<Result<std::unique_ptr<Registers>>(
    const SystemRoot& root, std::uint64_t address, std::uint32_t bytes)>;

}  // namespace fettle::agent
