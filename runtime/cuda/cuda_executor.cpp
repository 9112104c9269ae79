// Series of kernel launches (cuda_executor.h).
#include "runtime/cuda/cuda_executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/cuda/cuda_graph.h"
#include "runtime/cuda/cuda_memory.h"

namespace fettle::runtime {
namespace {

// Events that are in flight when each launch is timed: few enough to be kept for good.
constexpr std::size_t kEvents = 257;
// A CPU starts a launch in less, nanoseconds; and launches that are one graph.
constexpr std::uint64_t kShortLaunch = 20'000;
constexpr std::size_t kLaunchesOfGraph = 64;

Error too_much(const std::string& kernel, const std::string& what, std::uint64_t wanted,
               std::uint64_t most) {
  return {ErrorCode::OutOfResources, "kernel '" + kernel + "' is launched with " +
                                         std::to_string(wanted) + " " + what + ", at most " +
                                         std::to_string(most) + " fit"};
}

// Arguments lie one behind the other, each aligned to its own size.
template <typename Value>
void append(Bytes& to, Value value) {
  to.resize((to.size() + sizeof value - 1) / sizeof value * sizeof value);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

}  // namespace

class CudaSeries final : public LaunchSeries {
 public:
  explicit CudaSeries(CudaExecutor& executor) : of_(executor) {}

  Result<void> add(const wire::LaunchT& launch, const LoadedImage& image,
                   std::span<const std::unique_ptr<BufferMemory>> buffers) override {
    Bound bound{*static_cast<const CudaKernel*>(image.entry(launch.entry)),
                *launch.grid,
                *launch.block,
                launch.shared_bytes,
                {}};
    if (auto fits = check(bound); !fits) return fits;
    for (const wire::Arg& arg : launch.args) append_argument(bound.args, arg, buffers);
    if (auto fits = check_arguments(bound); !fits) return fits;
    if (bound.shared_bytes > of_.limits_.shared_bytes_unasked) {
      auto asked = of_.driver_.check(
          of_.driver_.call().set_function_attribute(bound.kernel.function,
                                                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                    static_cast<int>(bound.shared_bytes)),
          "cuFuncSetAttribute");
      if (!asked) return asked;
    }
    launches_.push_back(std::move(bound));
    return {};
  }

  Result<std::uint64_t> run(std::uint32_t times, std::span<std::uint64_t> launch_ticks) override {
    if (!launch_ticks.empty()) return run_timed(times, launch_ticks);
    if (auto made = make_graph(times); !made) return std::move(made).error();
    if (auto marked = mark(0); !marked) return std::move(marked).error();
    std::uint32_t left = times;
    for (; graph_ && left >= runs_of_graph_; left -= runs_of_graph_) {
      if (auto started = graph_->launch(); !started) return std::move(started).error();
    }
    if (auto started = start_all(left); !started) return std::move(started).error();
    if (auto marked = mark(1); !marked) return std::move(marked).error();
    if (auto done = wait_for(1); !done) return std::move(done).error();
    auto ticks = between(0, 1);
    if (ticks) is_short_ = *ticks < kShortLaunch * times * launches_.size();
    return ticks;
  }

 private:
  struct Bound {
    CudaKernel kernel;
    wire::Dim3 grid, block;
    std::uint32_t shared_bytes;
    Bytes args;
  };

  Result<void> check(const Bound& launch) const {
    const CudaLimits& most = of_.limits_;
    const std::uint32_t grid[] = {launch.grid.x(), launch.grid.y(), launch.grid.z()};
    const std::uint32_t block[] = {launch.block.x(), launch.block.y(), launch.block.z()};
    static const char* const axes[] = {"x", "y", "z"};
    const std::string& name = launch.kernel.name;
    for (int i = 0; i < 3; ++i) {
      if (grid[i] > most.max_grid[i]) {
        return too_much(name, std::string("blocks along ") + axes[i], grid[i], most.max_grid[i]);
      }
      if (block[i] > most.max_block[i]) {
        return too_much(name, std::string("threads along ") + axes[i], block[i], most.max_block[i]);
      }
    }
    const std::uint64_t threads = std::uint64_t{block[0]} * block[1] * block[2];
    if (threads > most.threads_per_block) {
      return too_much(name, "threads in a block", threads, most.threads_per_block);
    }
    if (threads > static_cast<std::uint64_t>(launch.kernel.max_threads)) {
      return too_much(
          name,
          "threads in a block of " + std::to_string(launch.kernel.registers) + " registers each",
          threads, static_cast<std::uint64_t>(launch.kernel.max_threads));
    }
    const std::uint64_t shared = std::uint64_t{launch.shared_bytes} +
                                 static_cast<std::uint64_t>(launch.kernel.static_shared_bytes);
    if (shared > most.shared_bytes) {
      return too_much(name, "bytes of shared memory in a block", shared, most.shared_bytes);
    }
    return {};
  }

  // Where the driver knows what the kernel reads: else too few would be read past their end.
  Result<void> check_arguments(const Bound& launch) const {
    if (!of_.driver_.call().parameter) return {};
    std::size_t end = 0, offset = 0, bytes = 0;
    for (std::size_t i = 0;
         of_.driver_.call().parameter(launch.kernel.function, i, &offset, &bytes) == CUDA_SUCCESS;
         ++i) {
      end = offset + bytes;
    }
    if (end == launch.args.size()) return {};
    return Error{ErrorCode::InvalidArgument,
                 "kernel '" + launch.kernel.name + "' takes " + std::to_string(end) +
                     " bytes of arguments, the launch has " + std::to_string(launch.args.size())};
  }

  static void append_argument(Bytes& to, const wire::Arg& arg,
                              std::span<const std::unique_ptr<BufferMemory>> buffers) {
    switch (arg.kind()) {
      case wire::ArgKind::Buffer:
        append(to, static_cast<std::uint64_t>(
                       static_cast<const CudaBuffer&>(*buffers[arg.buffer()]).address() +
                       arg.offset()));
        break;
      case wire::ArgKind::Int32:
        append(to, static_cast<std::int32_t>(arg.int_value()));
        break;
      case wire::ArgKind::Int:
      case wire::ArgKind::Int64:
        append(to, arg.int_value());
        break;
      case wire::ArgKind::Float32:
        append(to, static_cast<float>(arg.real_value()));
        break;
      case wire::ArgKind::Real:
      case wire::ArgKind::Float64:
        append(to, arg.real_value());
        break;
      case wire::ArgKind::TexelsFloat16:
      case wire::ArgKind::TexelsFloat32:
        break;  // of no image that is loaded here
    }
  }

  // Long kernels run on while the CPU starts the next; between short ones the GPU would wait.
  Result<void> make_graph(std::uint32_t times) {
    if (!is_short_ || !of_.driver_.has_graphs()) return {};
    const auto most = std::max<std::size_t>(kLaunchesOfGraph / launches_.size(), 1);
    const auto runs = static_cast<std::uint32_t>(std::min<std::size_t>(times, most));
    if (runs <= runs_of_graph_ || runs * launches_.size() < 2) return {};
    auto made = CudaGraph::capture(of_.driver_, of_.stream_, [&] { return start_all(runs); });
    if (!made) return std::move(made).error();
    graph_ = std::move(*made);
    runs_of_graph_ = runs;
    return {};
  }

  Result<void> start_all(std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) {
      for (Bound& launch : launches_) {
        if (auto started = start(launch); !started) return started;
      }
    }
    return {};
  }

  // The arguments as one piece of known size.
  Result<void> start(Bound& launch) const {
    std::size_t size = launch.args.size();
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, launch.args.data(),
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    return of_.driver_.check(
        of_.driver_.call().launch(launch.kernel.function, launch.grid.x(), launch.grid.y(),
                                  launch.grid.z(), launch.block.x(), launch.block.y(),
                                  launch.block.z(), launch.shared_bytes, of_.stream_, nullptr,
                                  extra),
        "cuLaunchKernel");
  }

  // An event behind each launch; when there are no more, it waits for those in flight.
  Result<std::uint64_t> run_timed(std::uint32_t times, std::span<std::uint64_t> launch_ticks) {
    std::uint64_t total = 0;
    std::size_t used = 0;
    std::vector<std::size_t> timed;  // which launch lies before event i + 1
    const auto collect = [&]() -> Result<void> {
      if (timed.empty()) return {};
      if (auto done = wait_for(used - 1); !done) return done;
      for (std::size_t i = 0; i < timed.size(); ++i) {
        const auto ticks = between(i, i + 1);
        if (!ticks) return ticks.error();
        launch_ticks[timed[i]] += *ticks;
        total += *ticks;
      }
      timed.clear();
      used = 0;
      return {};
    };
    for (std::uint32_t i = 0; i < times; ++i) {
      for (std::size_t n = 0; n < launches_.size(); ++n) {
        if (used == kEvents) {
          if (auto done = collect(); !done) return std::move(done).error();
        }
        if (used == 0) {
          if (auto marked = mark(used++); !marked) return std::move(marked).error();
        }
        if (auto started = start(launches_[n]); !started) return std::move(started).error();
        if (auto marked = mark(used++); !marked) return std::move(marked).error();
        timed.push_back(n);
      }
    }
    if (auto done = collect(); !done) return std::move(done).error();
    return total;
  }

  Result<void> mark(std::size_t event) const {
    return of_.driver_.check(of_.driver_.call().record_event(of_.events_[event], of_.stream_),
                             "cuEventRecord");
  }
  Result<void> wait_for(std::size_t event) const {
    return of_.driver_.check(of_.driver_.call().wait_for_event(of_.events_[event]),
                             "cuEventSynchronize");
  }
  Result<std::uint64_t> between(std::size_t from, std::size_t to) const {
    float ms = 0;
    auto told =
        of_.driver_.check(of_.driver_.call().elapsed_ms(&ms, of_.events_[from], of_.events_[to]),
                          "cuEventElapsedTime");
    if (!told) return std::move(told).error();
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(std::max(ms, 0.0f)) * 1e6));
  }

  CudaExecutor& of_;
  std::vector<Bound> launches_;
  bool is_short_ = false;  // the last runs were of launches below kShortLaunch
  std::unique_ptr<CudaGraph> graph_;
  std::uint32_t runs_of_graph_ = 0;
};

Result<std::unique_ptr<CudaExecutor>> CudaExecutor::make(const CudaDriver& driver, CUstream stream,
                                                         const CudaLimits& limits) {
  std::unique_ptr<CudaExecutor> out(new CudaExecutor(driver, stream, limits));
  // Whoever waits for one sleeps: a spinning core would heat a board whose GPU is measured.
  for (std::size_t i = 0; i < kEvents; ++i) {
    CUevent event = nullptr;
    if (auto made = driver.check(driver.call().create_event(&event, CU_EVENT_BLOCKING_SYNC),
                                 "cuEventCreate");
        !made) {
      return std::move(made).error();
    }
    out->events_.push_back(event);
  }
  return out;
}

std::unique_ptr<LaunchSeries> CudaExecutor::make_series() {
  return std::make_unique<CudaSeries>(*this);
}

}  // namespace fettle::runtime
