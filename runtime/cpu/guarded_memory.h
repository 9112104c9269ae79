// Memory of a CPU's programs: every buffer in a guarded mapping of its own, what is
// only read shared by all programs that read the same.
#pragma once

#include <list>
#include <memory>

#include "runtime/cpu/fill_cache.h"
#include "runtime/cpu/guarded_buffer.h"
#include "runtime/memory.h"

namespace fettle::runtime {

class GuardedMemory final : public Memory {
 public:
  // Keeps at most that many bytes of filled inputs, and as many of mappings to use again:
  // touching fresh pages costs more than everything else of a small program.
  explicit GuardedMemory(std::uint64_t kept_bytes) : kept_bytes_(kept_bytes), fills_(kept_bytes) {}

  // Inputs and constants are read-only and shared.
  Result<std::unique_ptr<BufferMemory>> take(const wire::BufferT& buffer,
                                             const BlobLookup& blobs) override;
  // The first copy lies as ever, guarded by itself; the others behind one another.
  Result<std::unique_ptr<BufferMemory>> take_copies(const wire::BufferT& buffer,
                                                    const BlobLookup& blobs,
                                                    std::uint32_t copies) override;
  void give_back(std::unique_ptr<BufferMemory> memory) override;

 private:
  struct Part;
  class Block;
  Result<Part> take_part(const wire::BufferT& buffer, const BlobLookup& blobs,
                         std::uint32_t copies);
  Result<Part> try_part(const wire::BufferT& buffer, const BlobLookup& blobs, std::uint32_t copies);
  bool drop_kept();  // false: nothing was kept
  std::list<std::unique_ptr<GuardedBuffer>>::iterator best_spare(std::uint64_t bytes,
                                                                 std::uint32_t alignment);
  Result<std::unique_ptr<GuardedBuffer>> take_spare(std::uint64_t bytes, std::uint32_t alignment);

  std::uint64_t kept_bytes_, spare_bytes_ = 0;
  FillCache fills_;
  std::list<std::unique_ptr<GuardedBuffer>> spares_;  // last used first
};

}  // namespace fettle::runtime
