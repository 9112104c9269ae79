// A network file, loaded and run: constants stay where they lie in it, what its Prepare launches
// make of them is made once.
//
// A network file holds machine code: load it only from where you would run a program from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cpu/cpu_executor.h"
#include "runtime/cpu/cpu_image.h"
#include "runtime/loaded_program.h"
#include "runtime/network/kept_affinity.h"
#include "runtime/network/mapped_file.h"
#include "runtime/network/network_accelerator.h"
#include "runtime/network/network_memory.h"
#include "schemas/network/network_file.h"

namespace fettle::runtime {

struct NetworkOptions {
  // 0: as many as the network was built for and this process has cores; of a file that does not
  // tell the former, as many as it has room for.
  std::uint32_t threads = 0;
  // That the threads are pinned to, the thread that loads among them, which must be the one that
  // runs: until the network goes, on that thread, or is not loaded. Empty: none is pinned.
  std::vector<std::uint32_t> cores;
  std::uint64_t memory_limit_bytes = 0;  // 0: what the machine has
  // LLVM's name of the core when the user knows better than the system does.
  std::string cpu;
  // Of networks with images for VTA; null: they are refused. Their layers' times are then the
  // accelerator's cycles, where it ran them.
  MakeAccelerator make_accelerator = nullptr;
};

// In bytes.
struct NetworkMemoryFigures {
  std::uint64_t file = 0;       // the network file
  std::uint64_t constants = 0;  // of it: what runs read from it
  std::uint64_t own = 0;  // buffers beside the file: packed constants, inputs, outputs, values
  std::uint64_t code = 0;
  std::uint64_t arena = 0, live = 0;  // as planned: values between layers, the most alive at once
};

class LoadedNetwork {
 public:
  // Reads, checks and prepares. What read_network_file() says; Malformed: its code is damaged;
  // Unsupported: another machine's; OutOfMemory; InvalidArgument: more threads than it has room
  // for.
  static Result<std::unique_ptr<LoadedNetwork>> open(const std::string& path,
                                                     const NetworkOptions& options);
  // The same of a file in memory, which outlives the result.
  static Result<std::unique_ptr<LoadedNetwork>> load(ByteView file, const NetworkOptions& options);

  const wire::NetworkT& description() const { return network_; }
  ByteView file() const { return file_; }
  std::uint32_t threads() const { return threads_; }
  NetworkMemoryFigures memory() const { return memory_figures_; }

  // Where the tensors lie, row-major: inputs are kept over runs, outputs hold what the last made.
  std::span<std::uint8_t> input(std::size_t index) const;
  std::span<const std::uint8_t> output(std::size_t index) const;

  // One run, by one thread at a time. `layer_ns`: empty, or one number per layer, to which its
  // nanoseconds are added.
  Result<void> run(std::span<std::uint64_t> layer_ns = {});

 private:
  LoadedNetwork() = default;
  Result<void> prepare(const NetworkOptions& options);
  Result<void> check_kind(const NetworkOptions& options) const;
  Result<void> choose_threads(const NetworkOptions& options);
  Result<void> check_code() const;
  Result<void> make_memory(const NetworkOptions& options);
  void forget_prepared();

  std::optional<MappedFile> mapped_;  // absent: the file is its user's
  ByteView file_;
  wire::NetworkT network_;
  BlobLookup blobs_;
  std::uint32_t threads_ = 1;
  NetworkMemoryFigures memory_figures_;
  // Each outlives what is behind it.
  std::unique_ptr<NetworkMemory> memory_;            // null: in the accelerator's
  std::unique_ptr<NetworkAccelerator> accelerator_;  // null: the network needs none
  CpuLoader loader_;
  std::optional<KeptAffinity> affinity_;  // absent: no thread is pinned
  std::unique_ptr<CpuExecutor> executor_;
  std::optional<LoadedProgram> program_;
  std::vector<std::uint64_t> launch_ns_;
};

}  // namespace fettle::runtime
