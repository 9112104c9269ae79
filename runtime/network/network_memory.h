// Memory of a network: constants are where they lie in its file, all the rest lies one behind the
// other in one piece.
#pragma once

#include <memory>

#include "runtime/memory.h"
#include "schemas/wire/codec.h"

namespace fettle::runtime {

// What a program takes, by the same rule by which NetworkMemory places it.
struct MemoryNeed {
  std::uint64_t own_bytes = 0;   // of buffers that are not in the file
  std::uint64_t file_bytes = 0;  // of those that are
};

class NetworkMemory final : public Memory {
 public:
  static MemoryNeed need(const wire::ProgramT& program, const BlobLookup& blobs);

  // Room for the buffers of that program, in huge pages where the system has them: zeros that take
  // no memory before they are written. OutOfMemory.
  static Result<std::unique_ptr<NetworkMemory>> make(const wire::ProgramT& program,
                                                     const BlobLookup& blobs);
  ~NetworkMemory() override;
  NetworkMemory(const NetworkMemory&) = delete;
  NetworkMemory& operator=(const NetworkMemory&) = delete;

  // The buffers of that program, each once and in their order. `blobs` outlive this.
  Result<std::unique_ptr<BufferMemory>> take(const wire::BufferT& buffer,
                                             const BlobLookup& blobs) override;
  void give_back(std::unique_ptr<BufferMemory> memory) override { memory.reset(); }

 private:
  NetworkMemory() = default;
  std::uint8_t* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::uint8_t* next_ = nullptr;
};

}  // namespace fettle::runtime
