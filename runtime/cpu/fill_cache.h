// Read-only buffers kept across programs: inputs and constants of one workload are
// the same for every candidate, so they are filled once.
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "runtime/cpu/guarded_buffer.h"
#include "schemas/fill/fill.h"

namespace fettle::runtime {

class FillCache {
 public:
  explicit FillCache(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  // The buffer filled as told, so many times behind one another (copies.h), read-only. What is in
  // use is never dropped; unused ones go, the longest unused first, when the bound is passed.
  Result<std::shared_ptr<const GuardedBuffer>> get(const wire::BufferT& buffer,
                                                   const BlobLookup& blobs, std::uint32_t copies);
  void clear() { entries_.clear(); }
  // What no program has. False: there was nothing.
  bool drop_unused();

 private:
  struct Entry {
    std::uint64_t bytes;
    std::uint32_t alignment, copies;
    wire::FillT fill;
    std::shared_ptr<const GuardedBuffer> buffer;
  };
  void shrink(std::uint64_t needed);

  std::uint64_t limit_bytes_, held_bytes_ = 0;
  std::list<Entry> entries_;  // last used first
};

}  // namespace fettle::runtime
