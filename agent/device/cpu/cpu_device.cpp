// The CPU device (cpu_device.h).
#include "agent/device/cpu/cpu_device.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "agent/device/fault_map.h"
#include "agent/platform/cpu_facts.h"
#include "runtime/cpu/cpu_executor.h"
#include "runtime/cpu/cpu_image.h"
#include "runtime/cpu/guarded_memory.h"
#include "runtime/loaded_program.h"
#include "runtime/weights.h"
#include "schemas/wire/clock_domain.h"

namespace fettle::agent {
namespace {

// Marks candidate code for the signal handlers.
struct CandidateScope {
  CandidateScope() { fault_map().candidate_running.store(true); }
  ~CandidateScope() { fault_map().candidate_running.store(false); }
};

// Of filled inputs, and as many of buffers to use again.
std::uint64_t kept_bytes(const wire::DeviceInfoT& info) {
  return std::min<std::uint64_t>(info.memory_limit_bytes / 4, std::uint64_t{256} << 20);
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const wire::DeviceInfoT& info)
      : info_(info), executor_(info.cpu->cores), memory_(kept_bytes(info)) {}
  ~CpuDevice() override { reset(); }

  const wire::DeviceInfoT& info() const override { return info_; }

  Result<std::uint64_t> prepare(const wire::ProgramT& program, const PrepareOptions& options,
                                const BlobLookup& blobs) override {
    reset();
    const std::uint32_t copies = copies_within(program, options.weights_bytes);
    if (auto fits = check_fit(program, options.threads); !fits) return std::move(fits).error();
    threads_ = options.threads;
    executor_.use_threads(threads_);
    const runtime::Kind kinds[] = {{wire::ImageKind::CpuImage, loader_, executor_}};
    auto loaded = runtime::LoadedProgram::load(program, memory_, kinds, blobs, copies);
    if (!loaded) return std::move(loaded).error();
    program_.emplace(std::move(*loaded));
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      names_.push_back(runtime::name_of(program, i));
    }
    publish_regions(program);
    if (!program_->has_prepare_launches()) return std::uint64_t{0};
    CandidateScope scope;
    unchecked_ = true;
    return program_->prepare();
  }

  Result<Sample> run(std::uint32_t times, bool launch_ticks) override {
    if (!program_) return Error{ErrorCode::InvalidArgument, "run before prepare"};
    Sample sample{0, info_.clock, info_.clock_hz};
    sample.launch_ticks.resize(launch_ticks ? program_->run_launches() : 0);
    CandidateScope scope;
    unchecked_ = true;
    const auto ticks = program_->run(times, sample.launch_ticks);
    if (!ticks) return ticks.error();
    sample.ticks = std::max<std::uint64_t>(*ticks, 1);
    return sample;
  }

  Result<void> poison_outputs() override {
    if (!program_) return Error{ErrorCode::InvalidArgument, "poison before prepare"};
    return program_->poison_outputs();
  }

  Result<ByteView> read(std::uint32_t buffer) override {
    if (!program_ || buffer >= program_->buffers().size()) {
      return Error{ErrorCode::InvalidArgument, "no such buffer"};
    }
    return ByteView(program_->buffers()[buffer]->data());
  }

  std::uint8_t unwritten_byte(wire::ScalarType type) const override {
    return runtime::unwritten_byte(type);
  }

  Result<void> check_surroundings() override {
    unchecked_ = false;
    return check(&runtime::BufferMemory::damage);
  }
  Result<void> check_close_surroundings() override {
    return check(&runtime::BufferMemory::close_damage);
  }

  void flush_caches() override {
    if (flush_.empty()) {
      std::uint64_t bytes = std::uint64_t{16} << 20;
      for (const auto& cache : info_.cpu->caches) bytes = std::max(bytes, cache->bytes * 2);
      flush_.resize(static_cast<std::size_t>(std::min(bytes, std::uint64_t{128} << 20)), 1);
    }
    // Every thread walks all of it: private caches are evicted too.
    executor_.pool().run(
        threads_,
        [](void* self, std::uint32_t) {
          const auto& bytes = static_cast<CpuDevice*>(self)->flush_;
          unsigned sum = 0;
          for (std::size_t i = 0; i < bytes.size(); i += 32) sum += bytes[i];
          asm volatile("" ::"r"(sum) : "memory");
        },
        this);
  }

  void reset() override {
    // Buffers are used again: the next program must not be blamed for what this one did.
    if (unchecked_) (void)check_surroundings();
    fault_map().set({});
    names_.clear();
    program_.reset();
  }

 private:
  // Tells of the first damage and mends all.
  Result<void> check(Result<std::string> (runtime::BufferMemory::*look)() const) {
    Result<void> found;
    if (!program_) return found;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      runtime::BufferMemory& memory = *program_->buffers()[i];
      const auto damage = (memory.*look)();
      if (!damage) return damage.error();
      if (damage->empty()) continue;
      memory.mend();
      if (found) found = Error{ErrorCode::StrayWrite, names_[i] + ": " + *damage};
    }
    return found;
  }

  // Twice what the largest cache holds is not in it any more. A board's memory is for other things.
  std::uint32_t copies_within(const wire::ProgramT& program, std::uint64_t wanted) const {
    std::uint64_t most = std::uint64_t{1} << 20;
    for (const auto& cache : info_.cpu->caches) most = std::max(most, cache->bytes * 2);
    const std::uint64_t limit = info_.memory_limit_bytes, used = bytes_of(program);
    most = std::min({most, limit / 4, limit - std::min(limit, used)});
    return runtime::copies_of_weights(program, std::min(wanted, most));
  }

  static std::uint64_t bytes_of(const wire::ProgramT& program) {
    std::uint64_t total = 0;
    for (const auto& buffer : program.buffers) total += buffer->bytes;
    for (const auto& image : program.images) total += image->cpu ? image->cpu->memory_bytes : 0;
    return total;
  }

  Result<void> check_fit(const wire::ProgramT& program, std::uint32_t threads) {
    if (threads > executor_.pool().size()) {
      return Error{ErrorCode::InvalidArgument, std::to_string(threads) +
                                                   " threads wanted, the device has " +
                                                   std::to_string(executor_.pool().size())};
    }
    if (program.max_threads > 0 && threads > program.max_threads) {
      return Error{ErrorCode::InvalidArgument, std::to_string(threads) +
                                                   " threads wanted, the program has room for " +
                                                   std::to_string(program.max_threads)};
    }
    const std::uint64_t total = bytes_of(program);
    if (total > info_.memory_limit_bytes) {
      return Error{ErrorCode::OutOfMemory, "the program needs " + std::to_string(total >> 20) +
                                               " MiB, the device's limit is " +
                                               std::to_string(info_.memory_limit_bytes >> 20)};
    }
    return {};
  }

  void publish_regions(const wire::ProgramT& program) {
    std::vector<FaultRegion> regions;
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      const runtime::BufferMemory& memory = *program_->buffers()[i];
      FaultRegion region{};
      region.begin = reinterpret_cast<std::uintptr_t>(memory.data().data());
      region.end = region.begin + memory.data().size();
      region.guard_begin = memory.reserved().begin;
      region.guard_end = memory.reserved().end;
      region.read_only = memory.read_only();
      const wire::BufferT& buffer = *program.buffers[i];
      const std::string name = buffer.name.empty() ? std::to_string(i) : buffer.name;
      std::strncpy(region.name, name.c_str(), sizeof region.name - 1);
      std::strncpy(region.role, wire::EnumNameBufferRole(buffer.role), sizeof region.role - 1);
      for (char& c : region.role) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      regions.push_back(region);
    }
    for (const auto& image : program_->images()) {
      FaultRegion region{};
      region.guard_begin = region.begin = image->code().begin;
      region.guard_end = region.end = image->code().end;
      region.code = true;
      regions.push_back(region);
    }
    fault_map().set(std::move(regions));
  }

  wire::DeviceInfoT info_;
  runtime::CpuExecutor executor_;
  runtime::CpuLoader loader_;
  runtime::GuardedMemory memory_;
  std::vector<std::uint8_t> flush_;

  bool unchecked_ = false;  // code of the program ran since the last look at its sentinels
  std::uint32_t threads_ = 1;
  std::vector<std::string> names_;
  std::optional<runtime::LoadedProgram> program_;  // gone before memory_
};

}  // namespace

SandboxPolicy cpu_sandbox(const wire::DeviceInfoT& info) {
  return {.extra_memory_bytes = info.memory_limit_bytes + 2 * kept_bytes(info)};
}

wire::DeviceInfoT describe_cpu(const DeviceConfig& config, const SystemRoot& root) {
  wire::DeviceInfoT info;
  info.key = config.key;
  info.index = config.index;
  info.kind = wire::DeviceKind::Cpu;
  info.profile = config.profile;
  info.aliases = config.aliases;
  // Under icount the kernel's clock advances by one "nanosecond" per instruction.
  info.clock = config.clock;
  info.clock_hz = clock_facts(config.clock).has_rate ? 1e9 : 0;
  std::vector<std::uint32_t> cores = config.cores.empty() ? usable_cores() : config.cores;
  if (config.threads > 0 && config.threads < cores.size()) cores.resize(config.threads);
  info.cpu = std::make_unique<wire::CpuFactsT>(read_cpu_facts(root, cores, config.cpu));
  info.name = device_name(root, *info.cpu);
  info.emulated = config.emulated || looks_emulated(root);
  info.memory_limit_bytes = config.memory_limit_bytes;
  if (info.memory_limit_bytes == 0) {
    // Half of the machine; a 32-bit worker cannot address more than about this.
    const std::uint64_t most = sizeof(void*) == 4 ? std::uint64_t{1} << 30 : std::uint64_t{4} << 30;
    info.memory_limit_bytes = std::min(physical_memory_bytes() / 2, most);
  }
  return info;
}

Result<std::unique_ptr<Device>> open_cpu(const wire::DeviceInfoT& info) {
  if (!info.cpu || info.cpu->cores.empty()) {
    return Error{ErrorCode::InvalidArgument, "a CPU device without cores"};
  }
  return std::unique_ptr<Device>(new CpuDevice(info));
}

}  // namespace fettle::agent
