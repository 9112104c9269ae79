// Where the buffers of a program lie, and who hands that memory out: one Memory per
// kind of it. All of it is within the CPU's reach.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "schemas/fill/fill.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::runtime {

struct AddressRange {
  std::uintptr_t begin = 0, end = 0;
};

// What one buffer of a program has.
class BufferMemory {
 public:
  virtual ~BufferMemory() = default;
  virtual std::span<std::uint8_t> data() const = 0;
  virtual bool read_only() const = 0;
  // The data and what lies around it and belongs to nothing else.
  virtual AddressRange reserved() const = 0;
  // "" or what a stray write did around the data: "wrote 16 bytes behind it, …".
  virtual std::string damage() const = 0;
  virtual void mend() = 0;  // as if there had been no damage
};

class Memory {
 public:
  virtual ~Memory() = default;
  // Memory for that buffer, which holds what the buffer does before its first run.
  // OutOfMemory, or what filling it says.
  virtual Result<std::unique_ptr<BufferMemory>> take(const wire::BufferT& buffer,
                                                     const BlobLookup& blobs) = 0;
  // Of a program that has ended; what it holds need not be kept.
  virtual void give_back(std::unique_ptr<BufferMemory> memory) = 0;
};

}  // namespace fettle::runtime
