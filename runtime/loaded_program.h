// A Program with its buffers allocated and filled, its images loaded and its launches
// bound: made once, run many times. Launches may be of several kinds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/executor.h"
#include "runtime/loader.h"
#include "runtime/memory.h"

namespace fettle::runtime {

// What can load and run images of a kind. Executors of one program tick by one clock.
struct Kind {
  wire::ImageKind image;
  Loader& loader;
  Executor& executor;
};

class LoadedProgram {
 public:
  // The program was checked (check_program). Unsupported: an image of no kind of `kinds`;
  // InvalidArgument: there is nothing to run. `memory` outlives the result, and so do loaders and
  // executors. `weight_copies`: how often weights lie in memory; runs take turns with them
  // (weights.h).
  static Result<LoadedProgram> load(const wire::ProgramT& program, Memory& memory,
                                    std::span<const Kind> kinds, const BlobLookup& blobs,
                                    std::uint32_t weight_copies = 1);
  LoadedProgram(LoadedProgram&& other) noexcept = default;
  LoadedProgram& operator=(LoadedProgram&&) = delete;
  ~LoadedProgram();  // gives the memory back

  bool has_prepare_launches() const { return !prepare_.empty(); }
  std::size_t run_launches() const { return run_launches_; }
  // Once, before the first run: what the Prepare launches took, in ticks.
  Result<std::uint64_t> prepare();
  // All Run launches in order, `times` times. launch_ticks: LaunchSeries::run.
  Result<std::uint64_t> run(std::uint32_t times, std::span<std::uint64_t> launch_ticks = {});
  // Outputs hold unwritten_byte again, as before the first run. Not those that a Prepare launch is
  // given: what it has written there, no run writes again.
  Result<void> poison_outputs();

  std::span<const std::unique_ptr<BufferMemory>> buffers() const { return buffers_; }
  std::span<const std::unique_ptr<LoadedImage>> images() const { return images_; }

 private:
  // Neighbours of one kind.
  struct Part {
    wire::ImageKind kind;
    std::unique_ptr<LaunchSeries> series;
    std::size_t launches;
  };
  explicit LoadedProgram(Memory& memory) : memory_(&memory) {}
  Result<void> append(std::vector<Part>& parts, const Kind& kind, const wire::LaunchT& launch);
  static Result<std::uint64_t> run_parts(std::vector<Part>& parts, std::uint32_t times,
                                         std::span<std::uint64_t> launch_ticks);

  Memory* memory_;
  std::vector<std::unique_ptr<BufferMemory>> buffers_;
  std::vector<std::unique_ptr<LoadedImage>> images_;
  std::vector<Part> prepare_, run_;
  struct Poison {
    std::size_t buffer;
    std::uint8_t byte;
  };
  std::vector<Poison> poisons_;
  std::size_t run_launches_ = 0;
  std::uint32_t weight_copies_ = 1;
};

// "Output buffer 'conv2d'": for messages.
std::string name_of(const wire::ProgramT& program, std::size_t buffer);

}  // namespace fettle::runtime
