// Where the buffers of a program lie, and who hands that memory out: one Memory per
// kind of it.
#pragma once

#include <algorithm>
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
  // Empty where it lies beyond the CPU's reach: its own kind of executor knows where.
  virtual std::span<std::uint8_t> data() const = 0;
  virtual bool read_only() const = 0;
  // The data and what lies around it and belongs to nothing else, in the CPU's address space.
  virtual AddressRange reserved() const = 0;
  // "" or what a stray write did around the data, or to data that is only read: "wrote 16
  // bytes behind it, …". An Error when the device does not let it be seen.
  virtual Result<std::string> damage() const = 0;
  // The same, but it may pass over what lies further off the data than an overrun by a row: for a
  // look that another, at all, follows.
  virtual Result<std::string> close_damage() const { return damage(); }
  virtual void mend() = 0;  // as if there had been no damage
  // Makes every byte of the data that one, behind all that was started before. Never of what is
  // read-only. Overridden where the data lie beyond the CPU's reach.
  virtual Result<void> set(std::uint8_t byte) {
    const std::span<std::uint8_t> all = data();
    std::fill(all.begin(), all.end(), byte);
    return {};
  }
  // What lies there several times: runs take turns with the copies, round r with copy r % copies().
  // data() is copy 0.
  virtual std::uint32_t copies() const { return 1; }
  virtual std::uint8_t* copy(std::uint32_t /*index*/) const { return data().data(); }
};

// The byte that stands for "never written" in outputs, and scratch without a fill, of that
// type: a NaN for floats; for integers a value that a whole tile rarely holds.
inline std::uint8_t unwritten_byte(wire::ScalarType type) {
  return type >= wire::ScalarType::Float16 ? 0xff : 0xa5;
}
inline std::uint8_t unwritten_byte(const wire::BufferT& buffer) {
  return unwritten_byte(buffer.fill ? buffer.fill->dtype : wire::ScalarType::Float32);
}

class Memory {
 public:
  virtual ~Memory() = default;
  // Memory for that buffer, which holds what the buffer does before its first run.
  // OutOfMemory, or what filling it says.
  virtual Result<std::unique_ptr<BufferMemory>> take(const wire::BufferT& buffer,
                                                     const BlobLookup& blobs) = 0;
  // The same `copies` times over, at least once. Unsupported where this memory has no use for it.
  virtual Result<std::unique_ptr<BufferMemory>> take_copies(const wire::BufferT& buffer,
                                                            const BlobLookup& blobs,
                                                            std::uint32_t copies) {
    if (copies == 1) return take(buffer, blobs);
    return Error{ErrorCode::Unsupported, "this device does not keep copies of weights"};
  }
  // Of a program that has ended; what it holds need not be kept.
  virtual void give_back(std::unique_ptr<BufferMemory> memory) = 0;
};

}  // namespace fettle::runtime
