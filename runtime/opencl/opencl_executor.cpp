// Series of kernel launches (opencl_executor.h).
#include "runtime/opencl/opencl_executor.h"

#include <algorithm>
#include <vector>

#include "runtime/opencl/opencl_image.h"
#include "runtime/opencl/opencl_memory.h"

namespace fettle::runtime {
namespace {

// Commands that a queue holds before it is told to go on: some drivers wait for that.
constexpr std::uint32_t kFlushAfter = 64;

bool is_texels(const wire::Arg& arg) {
  return arg.kind() == wire::ArgKind::TexelsFloat16 || arg.kind() == wire::ArgKind::TexelsFloat32;
}

Error too_much(const std::string& kernel, const std::string& what, std::uint64_t wanted,
               std::uint64_t most) {
  return {ErrorCode::OutOfResources, "kernel '" + kernel + "' is launched with " +
                                         std::to_string(wanted) + " " + what + ", at most " +
                                         std::to_string(most) + " fit"};
}

}  // namespace

class OpenClSeries final : public LaunchSeries {
 public:
  explicit OpenClSeries(OpenClExecutor& executor)
      : of_(executor), call_(executor.queue_.driver.call()) {}
  ~OpenClSeries() override {
    for (Bound& launch : launches_) call_.ReleaseKernel(launch.kernel);
  }

  Result<void> add(const wire::LaunchT& launch, const LoadedImage& image,
                   std::span<const std::unique_ptr<BufferMemory>> buffers) override {
    const auto& entry = *static_cast<const OpenClEntry*>(image.entry(launch.entry));
    cl_int result = CL_SUCCESS;
    Bound bound;
    bound.kernel = call_.CreateKernel(entry.program, entry.name.c_str(), &result);
    if (auto made = check(result, "clCreateKernel"); !made) {
      return std::move(made).error().in("looking for the kernel '" + entry.name + "'");
    }
    launches_.push_back(bound);
    const std::uint32_t grid[] = {launch.grid->x(), launch.grid->y(), launch.grid->z()};
    const std::uint32_t block[] = {launch.block->x(), launch.block->y(), launch.block->z()};
    for (int i = 0; i < 3; ++i) {
      launches_.back().local[i] = block[i];
      launches_.back().global[i] = std::size_t{grid[i]} * block[i];
    }
    if (auto fits = check_fit(launches_.back(), entry.name, launch.shared_bytes); !fits) {
      return fits;
    }
    return set_arguments(launches_.back().kernel, launch, entry.name, buffers);
  }

  Result<std::uint64_t> run(std::uint32_t times, std::span<std::uint64_t> launch_ticks) override {
    if (!launch_ticks.empty()) return run_timed(times, launch_ticks);
    const std::uint64_t count = std::uint64_t{times} * launches_.size();
    Event first(call_), last(call_);
    for (std::uint64_t i = 0; i < count; ++i) {
      // The first may be the last.
      cl_event* event = i == 0 ? &first.event : i + 1 == count ? &last.event : nullptr;
      if (auto started = start(launches_[i % launches_.size()], event); !started) {
        return std::move(started).error();
      }
      if (i % kFlushAfter == 0) call_.Flush(of_.queue_.queue);
    }
    if (auto done = finish(); !done) return std::move(done).error();
    const auto begin = time_of(first.event, CL_PROFILING_COMMAND_START);
    const auto end = time_of(count > 1 ? last.event : first.event, CL_PROFILING_COMMAND_END);
    if (!begin) return begin.error();
    if (!end) return end.error();
    return *end > *begin ? *end - *begin : 1;
  }

 private:
  struct Bound {
    cl_kernel kernel = nullptr;
    std::size_t global[3] = {1, 1, 1}, local[3] = {1, 1, 1};
  };
  struct Event {
    explicit Event(const OpenClCalls& call) : call(call) {}
    ~Event() {
      if (event) call.ReleaseEvent(event);
    }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    const OpenClCalls& call;
    cl_event event = nullptr;
  };

  Result<void> check(cl_int result, const char* call) const {
    return of_.queue_.driver.check(result, call);
  }

  Result<void> check_fit(const Bound& launch, const std::string& name,
                         std::uint32_t shared_bytes) const {
    static const char* const axes[] = {"x", "y", "z"};
    const OpenClLimits& most = of_.limits_;
    for (int i = 0; i < 3; ++i) {
      if (launch.local[i] > most.max_block[i]) {
        return too_much(name, std::string("threads along ") + axes[i], launch.local[i],
                        most.max_block[i]);
      }
    }
    const std::uint64_t threads =
        std::uint64_t{launch.local[0]} * launch.local[1] * launch.local[2];
    std::size_t of_kernel = 0;
    cl_ulong local = 0;
    const auto ask = call_.GetKernelWorkGroupInfo;
    if (auto told = check(ask(launch.kernel, of_.queue_.device, CL_KERNEL_WORK_GROUP_SIZE,
                              sizeof of_kernel, &of_kernel, nullptr),
                          "clGetKernelWorkGroupInfo");
        !told) {
      return told;
    }
    if (auto told = check(ask(launch.kernel, of_.queue_.device, CL_KERNEL_LOCAL_MEM_SIZE,
                              sizeof local, &local, nullptr),
                          "clGetKernelWorkGroupInfo");
        !told) {
      return told;
    }
    if (threads > most.threads_per_block || threads > of_kernel) {
      return too_much(name, "threads in a block", threads,
                      std::min<std::uint64_t>(most.threads_per_block, of_kernel));
    }
    if (local + shared_bytes > most.local_bytes) {
      return too_much(name, "bytes of local memory in a block", local + shared_bytes,
                      most.local_bytes);
    }
    return {};
  }

  // shared_bytes are the last argument, a pointer to local memory, where there are any.
  Result<void> set_arguments(cl_kernel kernel, const wire::LaunchT& launch, const std::string& name,
                             std::span<const std::unique_ptr<BufferMemory>> buffers) {
    cl_uint wanted = 0;
    if (auto told =
            check(call_.GetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof wanted, &wanted, nullptr),
                  "clGetKernelInfo");
        !told) {
      return told;
    }
    // A buffer of texels takes two parameters.
    const auto texels = static_cast<std::size_t>(std::ranges::count_if(launch.args, is_texels));
    const std::size_t given = launch.args.size() + texels + (launch.shared_bytes > 0 ? 1 : 0);
    if (wanted != given) {
      return Error{ErrorCode::InvalidArgument,
                   "kernel '" + name + "' takes " + std::to_string(wanted) +
                       " arguments, the launch has " + std::to_string(given)};
    }
    cl_uint parameter = 0;
    for (std::size_t i = 0; i < launch.args.size(); ++i) {
      auto set = check_type(kernel, parameter, launch.args[i], name);
      if (set) set = set_argument(kernel, parameter, launch.args[i], buffers);
      if (!set) return std::move(set).error().in("argument " + std::to_string(i));
      parameter += is_texels(launch.args[i]) ? 2 : 1;
    }
    if (launch.shared_bytes == 0) return {};
    return check(call_.SetKernelArg(kernel, wanted - 1, launch.shared_bytes, nullptr),
                 "clSetKernelArg");
  }

  // Not every driver looks itself whether an image is one. Nothing is known of kernels whose
  // driver does not tell.
  Result<void> check_type(cl_kernel kernel, cl_uint index, const wire::Arg& arg,
                          const std::string& name) {
    char told[64] = {};
    if (call_.GetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof told - 1, told,
                               nullptr) != CL_SUCCESS) {
      return {};
    }
    const std::string type = told;
    const bool right = is_texels(arg) ? type == "image1d_buffer_t" : !type.starts_with("image");
    if (right) return {};
    return Error{ErrorCode::InvalidArgument,
                 "kernel '" + name + "' takes " + type + " where the launch has " +
                     (is_texels(arg) ? "texels of a buffer" : "no image")};
  }

  Result<void> set_texels(cl_kernel kernel, cl_uint index, const wire::Arg& arg,
                          OpenClBuffer& buffer) {
    if (of_.limits_.texels == 0) {
      return Error{ErrorCode::Unsupported, "this device reads no buffers through images"};
    }
    auto texels =
        buffer.texels(arg.kind() == wire::ArgKind::TexelsFloat16, arg.offset(), of_.limits_.texels);
    if (!texels) return std::move(texels).error();
    auto set =
        check(call_.SetKernelArg(kernel, index, sizeof(cl_mem), &texels->image), "clSetKernelArg");
    if (!set) return set;
    return check(call_.SetKernelArg(kernel, index + 1, sizeof(cl_int), &texels->begin),
                 "clSetKernelArg");
  }

  Result<void> set_argument(cl_kernel kernel, cl_uint index, const wire::Arg& arg,
                            std::span<const std::unique_ptr<BufferMemory>> buffers) {
    const auto set = [&](const auto& value) {
      return check(call_.SetKernelArg(kernel, index, sizeof value, &value), "clSetKernelArg");
    };
    switch (arg.kind()) {
      case wire::ArgKind::Buffer: {
        auto memory = static_cast<OpenClBuffer&>(*buffers[arg.buffer()]).argument(arg.offset());
        if (!memory) return std::move(memory).error();
        return set(*memory);
      }
      case wire::ArgKind::Int32:
        return set(static_cast<cl_int>(arg.int_value()));
      case wire::ArgKind::Int:
      case wire::ArgKind::Int64:
        return set(static_cast<cl_long>(arg.int_value()));
      case wire::ArgKind::Float32:
        return set(static_cast<cl_float>(arg.real_value()));
      case wire::ArgKind::Real:
      case wire::ArgKind::Float64:
        return set(static_cast<cl_double>(arg.real_value()));
      case wire::ArgKind::TexelsFloat16:
      case wire::ArgKind::TexelsFloat32:
        return set_texels(kernel, index, arg, static_cast<OpenClBuffer&>(*buffers[arg.buffer()]));
    }
    return {};
  }

  Result<void> start(const Bound& launch, cl_event* event) const {
    return check(call_.EnqueueNDRangeKernel(of_.queue_.queue, launch.kernel, 3, nullptr,
                                            launch.global, launch.local, 0, nullptr, event),
                 "clEnqueueNDRangeKernel");
  }
  Result<void> finish() const { return check(call_.Finish(of_.queue_.queue), "clFinish"); }

  Result<std::uint64_t> time_of(cl_event event, cl_profiling_info what) const {
    cl_ulong at = 0;
    auto told = check(call_.GetEventProfilingInfo(event, what, sizeof at, &at, nullptr),
                      "clGetEventProfilingInfo");
    if (!told) return std::move(told).error();
    return std::uint64_t{at};
  }

  // Each launch has an event; what lies between two launches is in no launch's ticks.
  Result<std::uint64_t> run_timed(std::uint32_t times, std::span<std::uint64_t> launch_ticks) {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < times; ++i) {
      std::vector<std::unique_ptr<Event>> events;
      for (const Bound& launch : launches_) {
        events.push_back(std::make_unique<Event>(call_));
        if (auto started = start(launch, &events.back()->event); !started) {
          return std::move(started).error();
        }
      }
      if (auto done = finish(); !done) return std::move(done).error();
      for (std::size_t n = 0; n < events.size(); ++n) {
        const auto begin = time_of(events[n]->event, CL_PROFILING_COMMAND_START);
        const auto end = time_of(events[n]->event, CL_PROFILING_COMMAND_END);
        if (!begin) return begin.error();
        if (!end) return end.error();
        launch_ticks[n] += *end - *begin;
        total += *end - *begin;
      }
    }
    return total;
  }

  OpenClExecutor& of_;
  const OpenClCalls& call_;
  std::vector<Bound> launches_;
};

std::unique_ptr<LaunchSeries> OpenClExecutor::make_series() {
  return std::make_unique<OpenClSeries>(*this);
}

}  // namespace fettle::runtime
