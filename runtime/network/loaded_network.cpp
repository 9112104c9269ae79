// Loading and running networks (loaded_network.h).
#include "runtime/network/loaded_network.h"

#include <algorithm>
#include <cstring>

#include "agent/platform/cpu_facts.h"
#include "agent/platform/system_root.h"
#include "runtime/network/machine_check.h"
#include "schemas/wire/content_hash.h"

namespace fettle::runtime {
namespace {

// Which buffers Run launches read or write.
std::vector<bool> used_by_runs(const wire::ProgramT& program) {
  std::vector<bool> used(program.buffers.size());
  for (const auto& launch : program.launches) {
    if (launch->phase != wire::Phase::Run) continue;
    for (const wire::Arg& arg : launch->args) {
      if (arg.kind() == wire::ArgKind::Buffer) used[arg.buffer()] = true;
    }
    for (const wire::Relocation& relocation : launch->relocations) {
      used[relocation.buffer()] = true;
    }
  }
  return used;
}

bool lies_in(ByteView part, ByteView whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

}  // namespace

Result<std::unique_ptr<LoadedNetwork>> LoadedNetwork::open(const std::string& path,
                                                           const NetworkOptions& options) {
  auto mapped = MappedFile::open(path);
  if (!mapped) return std::move(mapped).error();
  std::unique_ptr<LoadedNetwork> out(new LoadedNetwork);
  out->mapped_.emplace(std::move(*mapped));
  out->file_ = out->mapped_->bytes();
  if (auto prepared = out->prepare(options); !prepared) {
    Error error = std::move(prepared).error();
    error.message = path + ": " + error.message;
    return error;
  }
  return out;
}

Result<std::unique_ptr<LoadedNetwork>> LoadedNetwork::load(ByteView file,
                                                           const NetworkOptions& options) {
  std::unique_ptr<LoadedNetwork> out(new LoadedNetwork);
  out->file_ = file;
  if (auto prepared = out->prepare(options); !prepared) return std::move(prepared).error();
  return out;
}

Result<void> LoadedNetwork::prepare(const NetworkOptions& options) {
  auto network = read_network_file(file_);
  if (!network) return std::move(network).error();
  network_ = std::move(*network);
  const wire::ProgramT& program = *network_.program;
  blobs_ = blobs_of(network_, file_);
  const auto cpu = agent::read_cpu_facts(agent::SystemRoot(), agent::usable_cores(), options.cpu);
  if (auto checked = check_kind(options); !checked) return checked;
  if (auto checked = check_cpu(network_, cpu); !checked) return checked;
  if (auto checked = check_code(); !checked) return checked;
  if (auto chosen = choose_threads(options); !chosen) return chosen;

  if (auto made = make_memory(options); !made) return made;
  if (!options.cores.empty()) affinity_.emplace(options.cores.front());
  executor_ = std::make_unique<CpuExecutor>(options.cores, threads_);
  // The system may refuse some (a limit of processes, memory): who asked for them is told.
  if (const std::uint32_t started = executor_->pool().size(); started < threads_) {
    if (options.threads > 0) {
      return Error{ErrorCode::Io, "only " + std::to_string(started) + " of " +
                                      std::to_string(threads_) + " threads could be started"};
    }
    threads_ = started;
  }
  executor_->use_threads(threads_);
  std::vector<Kind> kinds = {{wire::ImageKind::CpuImage, loader_, *executor_}};
  if (accelerator_) kinds.push_back(accelerator_->kind());
  Memory& memory = accelerator_ ? accelerator_->memory() : *memory_;
  auto loaded = LoadedProgram::load(program, memory, kinds, blobs_);
  if (!loaded) return std::move(loaded).error().in("loading the network");
  program_.emplace(std::move(*loaded));
  if (program_->has_prepare_launches()) {
    if (auto prepared = program_->prepare(); !prepared) {
      return std::move(prepared).error().in("preparing the network");
    }
  }
  launch_ns_.resize(program_->run_launches());
  forget_prepared();
  return {};
}

Result<void> LoadedNetwork::check_kind(const NetworkOptions& options) const {
  std::vector<wire::DeviceKind> here = {wire::DeviceKind::Cpu};
  if (options.make_accelerator) here.push_back(wire::DeviceKind::Vta);
  return check_kinds(network_, here,
                     "which this program does not run: `fettle run --device KEY` runs it on a "
                     "device, through its agent");
}

Result<void> LoadedNetwork::make_memory(const NetworkOptions& options) {
  const wire::ProgramT& program = *network_.program;
  const auto streams =
      std::find_if(program.images.begin(), program.images.end(),
                   [](const auto& image) { return image->kind == wire::ImageKind::VtaStream; });
  const bool accelerated = streams != program.images.end() && options.make_accelerator;
  const MemoryNeed need = NetworkMemory::need(program, blobs_);
  memory_figures_.file = file_.size();
  memory_figures_.own = need.own_bytes + (accelerated ? need.file_bytes : 0);
  memory_figures_.arena = network_.arena_bytes;
  memory_figures_.live = network_.live_bytes;
  for (const auto& image : program.images) {
    memory_figures_.code += image->cpu ? image->cpu->memory_bytes : image->bytes.size();
  }
  const std::uint64_t limit =
      options.memory_limit_bytes > 0 ? options.memory_limit_bytes : free_memory_bytes();
  // Pages of the file are the system's to give back; all else stays.
  auto fits = check_memory(memory_figures_.own + memory_figures_.code, limit);
  if (!fits) return fits;
  if (accelerated) {
    auto accelerator = options.make_accelerator(**streams, program);
    if (!accelerator) return std::move(accelerator).error();
    accelerator_ = std::move(*accelerator);
    return {};
  }
  auto memory = NetworkMemory::make(program, blobs_);
  if (!memory) return std::move(memory).error();
  memory_ = std::move(*memory);
  return {};
}

Result<void> LoadedNetwork::choose_threads(const NetworkOptions& options) {
  const std::uint32_t room = network_.program->max_threads;
  if (room > 0 && options.threads > room) {
    return Error{ErrorCode::InvalidArgument,
                 std::to_string(options.threads) + " threads wanted, the network has room for " +
                     std::to_string(room) + ": `fettle build --threads` gives it more"};
  }
  constexpr std::uint32_t kMostThreads = 1024;
  if (options.threads > kMostThreads) {
    return Error{ErrorCode::InvalidArgument, std::to_string(options.threads) +
                                                 " threads wanted, at most " +
                                                 std::to_string(kMostThreads) + " can be had"};
  }
  if (!options.cores.empty()) {
    const auto usable = agent::usable_cores();
    for (const std::uint32_t core : options.cores) {
      if (std::find(usable.begin(), usable.end(), core) != usable.end()) continue;
      return Error{ErrorCode::InvalidArgument,
                   "core " + std::to_string(core) + " is none that this process may use"};
    }
  }
  const std::size_t cores =
      options.cores.empty() ? agent::usable_cores().size() : options.cores.size();
  threads_ = static_cast<std::uint32_t>(cores);
  if (network_.threads > 0) threads_ = std::min(threads_, network_.threads);
  if (options.threads > 0) threads_ = options.threads;
  if (room > 0) threads_ = std::min(threads_, room);
  return {};
}

// What is executed is not taken on trust in the disk; weights are (check_blobs).
Result<void> LoadedNetwork::check_code() const {
  for (std::size_t i = 0; i < network_.program->images.size(); ++i) {
    const wire::ImageT& image = *network_.program->images[i];
    if (!image.bytes.empty()) continue;  // under the description's hash
    const wire::Hash hash = content_hash(blobs_(*image.blob));
    if (std::memcmp(&hash, image.blob.get(), sizeof hash) != 0) {
      return Error{ErrorCode::Malformed,
                   "the network file is damaged: image " + std::to_string(i) + " has another hash"};
    }
  }
  return {};
}

// Constants that no run reads have done their work.
void LoadedNetwork::forget_prepared() {
  const std::vector<bool> used = used_by_runs(*network_.program);
  for (std::size_t i = 0; i < used.size(); ++i) {
    const ByteView data = program_->buffers()[i]->data();
    const bool in_file = lies_in(data, file_);
    if (used[i] && in_file) memory_figures_.constants += data.size();
    if (!used[i] && in_file && mapped_) mapped_->forget(data);
  }
}

std::span<std::uint8_t> LoadedNetwork::input(std::size_t index) const {
  return program_->buffers()[network_.inputs[index]->buffer]->data();
}

std::span<const std::uint8_t> LoadedNetwork::output(std::size_t index) const {
  return program_->buffers()[network_.outputs[index]->buffer]->data();
}

Result<void> LoadedNetwork::run(std::span<std::uint64_t> layer_ns) {
  const std::span<std::uint64_t> launches =
      layer_ns.empty() ? std::span<std::uint64_t>() : std::span(launch_ns_);
  std::fill(launches.begin(), launches.end(), 0);
  if (auto ran = program_->run(1, launches); !ran) return std::move(ran).error();
  std::size_t launch = 0;
  for (std::size_t i = 0; i < layer_ns.size(); ++i) {
    for (std::uint32_t n = network_.layers[i]->run_launches; n > 0; --n) {
      layer_ns[i] += launch_ns_[launch++];
    }
  }
  return {};
}

}  // namespace fettle::runtime
