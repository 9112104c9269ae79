// Series of parallel loops (cpu_executor.h).
#include "runtime/cpu/cpu_executor.h"

#include <time.h>
#include <algorithm>
#include <cstring>
#include <deque>

#include "runtime/cpu/cpu_image.h"

namespace fettle::runtime {
namespace {

std::uint64_t raw_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

class CpuSeries final : public LaunchSeries {
 public:
  CpuSeries(ThreadPool& pool, std::uint32_t threads) : pool_(pool), threads_(threads) {}

  Result<void> add(const wire::LaunchT& launch, const LoadedImage& image,
                   std::span<const std::unique_ptr<BufferMemory>> buffers) override {
    Bound bound;
    bound.entry = reinterpret_cast<CpuEntry>(const_cast<void*>(image.entry(launch.entry)));
    bound.extent = static_cast<std::int32_t>(launch.parallel_extent);
    for (const wire::Arg& arg : launch.args) {
      if (arg.kind() != wire::ArgKind::Buffer) continue;
      bound.rounds = std::max(bound.rounds, buffers[arg.buffer()]->copies());
    }
    bound.width = launch.args.size();
    bound.args.reserve(bound.width * bound.rounds);
    std::vector<void*> scalars;
    for (const wire::Arg& arg : launch.args) {
      scalars.push_back(arg.kind() == wire::ArgKind::Buffer ? nullptr : scalar(arg));
    }
    for (std::uint32_t round = 0; round < bound.rounds; ++round) {
      for (std::size_t i = 0; i < bound.width; ++i) {
        const wire::Arg& arg = launch.args[i];
        if (scalars[i] == nullptr) {
          const BufferMemory& memory = *buffers[arg.buffer()];
          bound.args.push_back(memory.copy(round % memory.copies()) + arg.offset());
        } else {
          bound.args.push_back(scalars[i]);
        }
      }
    }
    launches_.push_back(std::move(bound));
    return {};
  }

  Result<std::uint64_t> run(std::uint32_t times, std::span<std::uint64_t> launch_ticks) override {
    times_ = times;
    launch_ticks_ = launch_ticks;
    const std::uint64_t start = raw_ns();
    sharing_ = pool_.ready(threads_);
    if (sharing_ == 1 && launch_ticks.empty()) {
      for (std::uint32_t i = 0; i < times; ++i) {
        for (const Bound& launch : launches_) {
          launch.entry(launch.args_of(round_ + i), 0, launch.extent, 0);
        }
      }
    } else {
      pool_.run(
          sharing_,
          [](void* self, std::uint32_t thread) { static_cast<CpuSeries*>(self)->share(thread); },
          this);
    }
    const std::uint64_t took = raw_ns() - start;
    round_ += times;
    return took;
  }

 private:
  struct Bound {
    CpuEntry entry = nullptr;
    std::vector<void*> args;   // of each round, `width` of them
    std::uint32_t rounds = 1;  // runs take turns with the copies of its buffers
    std::size_t width = 0;
    std::int32_t extent = 1;
    void* const* args_of(std::uint32_t run) const {
      return args.data() + (rounds == 1 ? 0 : run % rounds * width);
    }
  };

  // Address of the scalar's value, in its own width.
  void* scalar(const wire::Arg& arg) {
    std::uint64_t& place = scalars_.emplace_back(0);
    const auto store = [&place](auto value) { std::memcpy(&place, &value, sizeof value); };
    switch (arg.kind()) {
      case wire::ArgKind::Int32:
        store(static_cast<std::int32_t>(arg.int_value()));
        break;
      case wire::ArgKind::Int:
      case wire::ArgKind::Int64:
        store(arg.int_value());
        break;
      case wire::ArgKind::Float32:
        store(static_cast<float>(arg.real_value()));
        break;
      case wire::ArgKind::Real:
      case wire::ArgKind::Float64:
        store(arg.real_value());
        break;
      case wire::ArgKind::Buffer:
      case wire::ArgKind::TexelsFloat16:
      case wire::ArgKind::TexelsFloat32:
        break;  // is no scalar
    }
    return &place;
  }

  // One thread's part of all launches; each launch is complete before the next.
  void share(std::uint32_t thread) {
    const bool timed = thread == 0 && !launch_ticks_.empty();
    std::uint64_t last = timed ? raw_ns() : 0;
    for (std::uint32_t i = 0; i < times_; ++i) {
      for (std::size_t n = 0; n < launches_.size(); ++n) {
        const Bound& launch = launches_[n];
        const auto extent = static_cast<std::int64_t>(launch.extent);
        const auto begin = static_cast<std::int32_t>(extent * thread / sharing_);
        const auto end = static_cast<std::int32_t>(extent * (thread + 1) / sharing_);
        if (begin < end) {
          launch.entry(launch.args_of(round_ + i), begin, end, static_cast<std::int32_t>(thread));
        }
        if (sharing_ > 1) pool_.barrier().arrive_and_wait();
        if (!timed) continue;
        const std::uint64_t now = raw_ns();
        launch_ticks_[n] += now - last;
        last = now;
      }
    }
  }

  ThreadPool& pool_;
  std::uint32_t threads_, times_ = 0;
  std::uint32_t sharing_ = 1;  // of these, in this run
  std::uint32_t round_ = 0;    // of the next run
  std::span<std::uint64_t> launch_ticks_;
  std::vector<Bound> launches_;
  std::deque<std::uint64_t> scalars_;  // addresses stay
};

}  // namespace

std::unique_ptr<LaunchSeries> CpuExecutor::make_series() {
  return std::make_unique<CpuSeries>(pool_, threads_);
}

}  // namespace fettle::runtime
