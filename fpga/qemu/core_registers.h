// The registers of a core as software sees them, without the core: what is stored, what a write
// asks for, and what is seen of a stream's end. fpga/rtl/README.md has our core's; the stock cores'
// are those that Vivado HLS makes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "fpga/config/design.h"

namespace fettle::vta {

class CoreRegisters {
 public:
  virtual ~CoreRegisters() = default;

  // Offsets are from the window's beginning, a multiple of 4. A read may clear what it reads.
  virtual std::uint32_t read(std::uint32_t offset) = 0;
  struct Stream {
    std::uint32_t address = 0, count = 0;  // bytes, instructions
    bool at_zero = true;                   // all base addresses are 0
  };
  enum class Asked : std::uint8_t { Nothing, Start, Stop };
  // What the write asks for. After Start, stream() is what is to run.
  virtual Asked write(std::uint32_t offset, std::uint32_t value) = 0;
  virtual Stream stream() const = 0;

  // What befalls the stream: its first instruction, compute's, was done; FINISH was; it can go on
  // no more (errors as in our core's register 0x28, or 0); what ran before still ends.
  virtual void begun() = 0;
  virtual void finished(std::uint64_t cycles) = 0;
  virtual void failed(std::uint32_t errors) = 0;
  virtual void set_stopping(bool stopping) = 0;
};

std::unique_ptr<CoreRegisters> make_core_registers(const Design& design);

}  // namespace fettle::vta
