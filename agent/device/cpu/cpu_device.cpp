// The CPU device (cpu_device.h).
#include "agent/device/cpu/cpu_device.h"

#include <time.h>
#include <algorithm>
#include <cstring>
#include <list>

#include "agent/device/cpu/cpu_image.h"
#include "agent/device/cpu/fault_map.h"
#include "agent/device/cpu/fill_cache.h"
#include "agent/device/cpu/guarded_buffer.h"
#include "agent/device/cpu/thread_pool.h"
#include "agent/platform/cpu_facts.h"

namespace fettle::agent {
namespace {

std::uint64_t raw_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

struct BoundLaunch {
  CpuEntry entry;
  std::vector<void*> args;
  std::int32_t extent;
};

// A buffer of the program in force: shared and read-only, or its own.
struct BoundBuffer {
  std::shared_ptr<const GuardedBuffer> shared;
  std::unique_ptr<GuardedBuffer> own;
  const GuardedBuffer& memory() const { return own ? *own : *shared; }
};

// Marks candidate code for the signal handlers.
struct CandidateScope {
  CandidateScope() { fault_map().candidate_running.store(true); }
  ~CandidateScope() { fault_map().candidate_running.store(false); }
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const wire::DeviceInfoT& info)
      : info_(info),
        pool_(info.cpu->cores, static_cast<std::uint32_t>(info.cpu->cores.size())),
        fills_(fill_cache_bytes(info)) {}
  ~CpuDevice() override { reset(); }

  const wire::DeviceInfoT& info() const override { return info_; }

  Result<std::uint64_t> prepare(const wire::ProgramT& program, const PrepareOptions& options,
                                const BlobLookup& blobs) override {
    reset();
    if (options.threads > pool_.size()) {
      return Error{ErrorCode::InvalidArgument, std::to_string(options.threads) +
                                                   " threads wanted, the device has " +
                                                   std::to_string(pool_.size())};
    }
    if (program.max_threads > 0 && options.threads > program.max_threads) {
      return Error{ErrorCode::InvalidArgument, std::to_string(options.threads) +
                                                   " threads wanted, the program has room for " +
                                                   std::to_string(program.max_threads)};
    }
    threads_ = options.threads;
    if (auto done = make_buffers(program, blobs); !done) return std::move(done).error();
    if (auto done = load_images(program, blobs); !done) return std::move(done).error();
    std::vector<BoundLaunch> first;
    for (const auto& launch : program.launches) {
      (launch->phase == wire::Phase::Prepare ? first : launches_).push_back(bind(program, *launch));
    }
    if (launches_.empty()) {
      return Error{ErrorCode::InvalidArgument, "the program has no launch to time"};
    }
    publish_regions(program);
    prepared_ = true;
    if (first.empty()) return std::uint64_t{0};
    launches_.swap(first);
    const std::uint64_t spent = execute(1);
    launches_.swap(first);
    return spent;
  }

  Result<Sample> run(std::uint32_t times) override {
    if (!prepared_) return Error{ErrorCode::InvalidArgument, "run before prepare"};
    return Sample{std::max<std::uint64_t>(execute(times), 1), info_.clock, info_.clock_hz};
  }

  Result<ByteView> read(std::uint32_t buffer) override {
    if (buffer >= buffers_.size()) return Error{ErrorCode::InvalidArgument, "no such buffer"};
    return ByteView(buffers_[buffer].memory().data());
  }

  // A NaN for floats; for integers a value that a whole tile rarely holds.
  std::uint8_t unwritten_byte(wire::ScalarType type) const override {
    return type >= wire::ScalarType::Float16 ? 0xff : 0xa5;
  }

  // Tells of the first damage and mends all.
  Result<void> check_surroundings() override {
    Result<void> found;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (!buffers_[i].own) continue;
      const std::string damage = buffers_[i].own->sentinel_damage();
      if (damage.empty()) continue;
      buffers_[i].own->write_sentinels();
      if (found) found = Error{ErrorCode::StrayWrite, names_[i] + ": " + damage};
    }
    unchecked_ = false;
    return found;
  }

  void flush_caches() override {
    if (flush_.empty()) {
      std::uint64_t bytes = std::uint64_t{16} << 20;
      for (const auto& cache : info_.cpu->caches) bytes = std::max(bytes, cache->bytes * 2);
      flush_.resize(static_cast<std::size_t>(std::min(bytes, std::uint64_t{128} << 20)), 1);
    }
    // Every thread walks all of it: private caches are evicted too.
    pool_.run(
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
    prepared_ = false;
    launches_.clear();
    images_.clear();
    scalars_.clear();
    names_.clear();
    for (BoundBuffer& buffer : buffers_) {
      if (buffer.own) keep_spare(std::move(buffer.own));
    }
    buffers_.clear();
  }

 private:
  Result<void> make_buffers(const wire::ProgramT& program, const BlobLookup& blobs) {
    std::uint64_t total = 0;
    for (const auto& buffer : program.buffers) total += buffer->bytes;
    for (const auto& image : program.images) total += image->cpu ? image->cpu->memory_bytes : 0;
    if (total > info_.memory_limit_bytes) {
      return Error{ErrorCode::OutOfMemory, "the program needs " + std::to_string(total >> 20) +
                                               " MiB, the device's limit is " +
                                               std::to_string(info_.memory_limit_bytes >> 20)};
    }
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      const wire::BufferT& buffer = *program.buffers[i];
      const char* role = wire::EnumNameBufferRole(buffer.role);
      names_.push_back(std::string(role) + " buffer " +
                       (buffer.name.empty() ? std::to_string(i) : "'" + buffer.name + "'"));
      BoundBuffer bound;
      if (buffer.role == wire::BufferRole::Input || buffer.role == wire::BufferRole::Constant) {
        auto filled = fills_.get(buffer, blobs);
        if (!filled) return std::move(filled).error().in("filling " + names_.back());
        bound.shared = std::move(*filled);
      } else {
        auto own = take_spare(buffer);
        if (!own) return std::move(own).error().in("allocating " + names_.back());
        bound.own = std::move(*own);
        const auto data = bound.own->data();
        if (buffer.role == wire::BufferRole::Scratch && buffer.fill) {
          if (auto filled = fill_buffer(*buffer.fill, blobs, data); !filled) {
            return std::move(filled).error().in("filling " + names_.back());
          }
        } else {
          // Nothing of an earlier program may pass for this one's work.
          const auto type = buffer.fill ? buffer.fill->dtype : wire::ScalarType::Float32;
          std::memset(data.data(), unwritten_byte(type), data.size());
        }
      }
      buffers_.push_back(std::move(bound));
    }
    return {};
  }

  Result<void> load_images(const wire::ProgramT& program, const BlobLookup& blobs) {
    for (const auto& image : program.images) {
      if (image->kind != wire::ImageKind::CpuImage || !image->cpu) {
        return Error{ErrorCode::Unsupported, std::string("a CPU cannot load an image of kind ") +
                                                 wire::EnumNameImageKind(image->kind)};
      }
      ByteView bytes(image->bytes);
      if (bytes.empty()) bytes = blobs(*image->blob);
      if (bytes.empty()) return Error{ErrorCode::MissingBlob, "no blob for an image"};
      auto loaded = CpuImage::load(*image, bytes);
      if (!loaded) return std::move(loaded).error();
      images_.push_back(std::move(*loaded));
    }
    return {};
  }

  BoundLaunch bind(const wire::ProgramT& program, const wire::LaunchT& launch) {
    const auto& entry = *program.images[launch.image]->entries[launch.entry];
    BoundLaunch bound{images_[launch.image].entry(entry.offset),
                      {},
                      static_cast<std::int32_t>(launch.parallel_extent)};
    for (const auto& arg : launch.args) {
      if (arg.kind() == wire::ArgKind::Buffer) {
        bound.args.push_back(buffers_[arg.buffer()].memory().data().data() + arg.offset());
        continue;
      }
      std::uint64_t bits;
      const std::int64_t integer = arg.int_value();
      const double real = arg.real_value();
      if (arg.kind() == wire::ArgKind::Int)
        std::memcpy(&bits, &integer, sizeof bits);
      else
        std::memcpy(&bits, &real, sizeof bits);
      scalars_.push_back(bits);
      bound.args.push_back(&scalars_.back());
    }
    return bound;
  }

  void publish_regions(const wire::ProgramT& program) {
    std::vector<FaultRegion> regions;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const GuardedBuffer& memory = buffers_[i].memory();
      FaultRegion region{};
      region.begin = reinterpret_cast<std::uintptr_t>(memory.data().data());
      region.end = region.begin + memory.data().size();
      region.guard_begin = memory.guard_begin();
      region.guard_end = memory.guard_end();
      region.read_only = memory.read_only();
      const wire::BufferT& buffer = *program.buffers[i];
      const std::string name = buffer.name.empty() ? std::to_string(i) : buffer.name;
      std::strncpy(region.name, name.c_str(), sizeof region.name - 1);
      std::strncpy(region.role, wire::EnumNameBufferRole(buffer.role), sizeof region.role - 1);
      for (char& c : region.role) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      regions.push_back(region);
    }
    for (const CpuImage& image : images_) {
      FaultRegion region{};
      region.guard_begin = region.begin = image.begin();
      region.guard_end = region.end = image.end();
      region.code = true;
      regions.push_back(region);
    }
    fault_map().set(std::move(regions));
  }

  // Ticks of `times` runs of launches_.
  std::uint64_t execute(std::uint32_t times) {
    CandidateScope scope;
    unchecked_ = true;
    times_ = times;
    const std::uint64_t start = raw_ns();
    if (threads_ == 1) {
      for (std::uint32_t i = 0; i < times; ++i) {
        for (const BoundLaunch& launch : launches_)
          launch.entry(launch.args.data(), 0, launch.extent, 0);
      }
    } else {
      pool_.run(
          threads_,
          [](void* self, std::uint32_t thread) { static_cast<CpuDevice*>(self)->share(thread); },
          this);
    }
    return raw_ns() - start;
  }

  // One thread's part of all launches; each launch is complete before the next.
  void share(std::uint32_t thread) {
    for (std::uint32_t i = 0; i < times_; ++i) {
      for (const BoundLaunch& launch : launches_) {
        const auto extent = static_cast<std::int64_t>(launch.extent);
        const auto begin = static_cast<std::int32_t>(extent * thread / threads_);
        const auto end = static_cast<std::int32_t>(extent * (thread + 1) / threads_);
        if (begin < end) {
          launch.entry(launch.args.data(), begin, end, static_cast<std::int32_t>(thread));
        }
        pool_.barrier().arrive_and_wait();
      }
    }
  }

  // Mappings of outputs and scratch are used again: touching fresh pages costs
  // more than everything else of a small trial.
  Result<std::unique_ptr<GuardedBuffer>> take_spare(const wire::BufferT& buffer) {
    for (auto at = spares_.begin(); at != spares_.end(); ++at) {
      if ((*at)->data().size() == buffer.bytes && (*at)->alignment() == buffer.alignment) {
        auto found = std::move(*at);
        spare_bytes_ -= found->memory_bytes();
        spares_.erase(at);
        return found;
      }
    }
    auto made = GuardedBuffer::make(buffer.bytes, buffer.alignment);
    if (!made) return std::move(made).error();
    return std::make_unique<GuardedBuffer>(std::move(*made));
  }

  void keep_spare(std::unique_ptr<GuardedBuffer> buffer) {
    spare_bytes_ += buffer->memory_bytes();
    spares_.push_front(std::move(buffer));
    while (spare_bytes_ > fill_cache_bytes(info_)) {
      spare_bytes_ -= spares_.back()->memory_bytes();
      spares_.pop_back();
    }
  }

  wire::DeviceInfoT info_;
  ThreadPool pool_;
  FillCache fills_;
  std::list<std::unique_ptr<GuardedBuffer>> spares_;
  std::uint64_t spare_bytes_ = 0;
  std::vector<std::uint8_t> flush_;

  bool prepared_ = false;
  bool unchecked_ = false;  // code of the program ran since the last look at its sentinels
  std::uint32_t threads_ = 1, times_ = 0;
  std::vector<BoundBuffer> buffers_;
  std::vector<std::string> names_;
  std::vector<CpuImage> images_;
  std::list<std::uint64_t> scalars_;  // addresses stay
  std::vector<BoundLaunch> launches_;
};

}  // namespace

std::uint64_t fill_cache_bytes(const wire::DeviceInfoT& info) {
  return std::min<std::uint64_t>(info.memory_limit_bytes / 4, std::uint64_t{256} << 20);
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
  info.clock_hz = config.clock == wire::ClockDomain::Nanoseconds ? 1e9 : 0;
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
