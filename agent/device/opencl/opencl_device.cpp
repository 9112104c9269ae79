// The OpenCL device (opencl_device.h).
#include "agent/device/opencl/opencl_device.h"

#include <sched.h>
#include <algorithm>
#include <cstdlib>

#include "agent/device/device_cores.h"
#include "agent/device/offload_device.h"
#include "agent/device/opencl/opencl_facts.h"
#include "agent/device/opencl/opencl_row.h"
#include "runtime/guard.h"
#include "runtime/opencl/opencl_image.h"
#include "runtime/opencl/opencl_memory.h"

namespace fettle::agent {
namespace {

class OpenClDevice final : public OffloadDevice {
 public:
  explicit OpenClDevice(wire::DeviceInfoT info) : OffloadDevice(std::move(info)) {}
  ~OpenClDevice() override { reset(); }

  // Once. Context and queue are left to the end of the process: a lost one may not want to go.
  Result<void> open() {
    set_surroundings();
    auto driver = runtime::OpenClDriver::load(
        extra(kOpenClLibrary, "libOpenCL.so.1,libOpenCL.so,libmali.so"));
    if (!driver) return std::move(driver).error();
    driver_ = std::move(*driver);
    auto device = choose_device();
    if (!device) return std::move(device).error();
    if (auto told = read_opencl_facts(*driver_, *device, info_); !told) return told;
    queue_.emplace(runtime::OpenClQueue{*driver_});
    queue_->device = *device;
    const auto& call = driver_->call();
    cl_int result = CL_SUCCESS;
    queue_->context = call.CreateContext(nullptr, 1, &queue_->device, nullptr, nullptr, &result);
    if (auto made = driver_->check(result, "clCreateContext"); !made) return made;
    queue_->queue = call.CreateCommandQueue(queue_->context, queue_->device,
                                            CL_QUEUE_PROFILING_ENABLE, &result);
    if (auto made = driver_->check(result, "clCreateCommandQueue"); !made) return made;
    info_.gpu->warp_size = threads_that_go_together(*driver_, queue_->context, *device);
    memory_ = std::make_unique<runtime::OpenClMemory>(*queue_, buffer_alignment(*driver_, *device),
                                                      kept_bytes());
    const std::uint64_t texels = texels_of_images(*driver_, queue_->context, *device);
    // An image is over the guard before the data, too: of so many texels, the smaller ones.
    constexpr std::uint64_t before = runtime::kGuardBytes / 8;
    info_.gpu->image_texels = texels > before ? texels - before : 0;
    executor_ =
        std::make_unique<runtime::OpenClExecutor>(*queue_, opencl_limits(*info_.gpu, texels));
    loader_ = std::make_unique<runtime::OpenClLoader>(*queue_);
    flush_ = call.CreateBuffer(queue_->context, CL_MEM_READ_WRITE, flush_bytes(), nullptr, &result);
    return driver_->check(result, "clCreateBuffer");
  }

  // Writes more than the device's cache holds.
  void flush_caches() override {
    ++flushed_;
    driver_->call().EnqueueFillBuffer(queue_->queue, flush_, &flushed_, 1, 0, flush_bytes(), 0,
                                      nullptr, nullptr);
    (void)!synchronize();
  }

  bool lost() const override { return driver_ && driver_->lost(); }

 private:
  Parts parts() override {
    return {*memory_, {{wire::ImageKind::OpenClSource, *loader_, *executor_}}};
  }
  Result<void> download(const runtime::BufferMemory& from, Bytes& to) override {
    const auto& buffer = static_cast<const runtime::OpenClBuffer&>(from);
    to.resize(buffer.bytes());
    return buffer.download(to);
  }
  Result<void> synchronize() override {
    return driver_->check(driver_->call().Finish(queue_->queue), "clFinish");
  }
  std::uint64_t flush_bytes() const {
    return std::max<std::uint64_t>(2 * info_.gpu->l2_bytes, 1u << 20);
  }

  // Before the driver starts threads of its own, which inherit its cores. PoCL, whose devices are
  // CPUs, makes one for each core of the machine and keeps every kernel's code in files for good,
  // unless its environment says otherwise: the user's word comes first. Where they lie it does not
  // say: the worker writes in its own folder alone, which PoCL finds as XDG_CACHE_HOME.
  void set_surroundings() const {
    setenv("POCL_KERNEL_CACHE", "0", 0);
    unsetenv("POCL_CACHE_DIR");
    const auto cores = parse_core_list(extra(kDeviceCores, ""));
    if (!cores || cores->empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const std::uint32_t core : *cores) CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
    setenv("POCL_MAX_PTHREAD_COUNT", std::to_string(cores->size()).c_str(), 0);
  }

  // The one that the option numbers, else the first GPU, else the first.
  Result<cl_device_id> choose_device() {
    const auto& call = driver_->call();
    cl_platform_id platforms[16];
    cl_uint count = 0;
    // The loader says -1001 where no vendor has registered a platform.
    if (call.GetPlatformIDs(16, platforms, &count) != CL_SUCCESS || count == 0) {
      return Error{ErrorCode::NotFound, "OpenCL is here, but no platform of any vendor"};
    }
    std::vector<cl_device_id> devices;
    for (cl_uint i = 0; i < std::min<cl_uint>(count, 16); ++i) {
      cl_device_id some[16];
      cl_uint found = 0;
      if (call.GetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 16, some, &found) != CL_SUCCESS) {
        continue;
      }
      devices.insert(devices.end(), some, some + std::min<cl_uint>(found, 16));
    }
    const std::string wanted = extra(kOpenClDevice, "");
    const auto number = static_cast<std::size_t>(std::atoi(wanted.c_str()));
    if (devices.empty() || (!wanted.empty() && number >= devices.size())) {
      return Error{ErrorCode::NotFound, "OpenCL knows " + std::to_string(devices.size()) +
                                            " devices, there is no number " +
                                            std::to_string(number)};
    }
    if (!wanted.empty()) return devices[number];
    for (cl_device_id device : devices) {
      cl_device_type type = 0;
      call.GetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr);
      if (type & CL_DEVICE_TYPE_GPU) return device;
    }
    return devices.front();
  }

  std::unique_ptr<runtime::OpenClDriver> driver_;  // gone last
  std::optional<runtime::OpenClQueue> queue_;
  std::unique_ptr<runtime::OpenClMemory> memory_;
  std::unique_ptr<runtime::OpenClExecutor> executor_;
  std::unique_ptr<runtime::OpenClLoader> loader_;
  cl_mem flush_ = nullptr;
  std::uint8_t flushed_ = 0;
};

}  // namespace

Result<std::unique_ptr<Device>> open_opencl(const wire::DeviceInfoT& info) {
  auto device = std::make_unique<OpenClDevice>(info);
  if (auto opened = device->open(); !opened) return std::move(opened).error();
  return std::unique_ptr<Device>(std::move(device));
}

// PoCL runs a linker for each kernel and loads what comes out; vendors keep caches in files. So
// this worker may start programs and write files in a folder of its own. What a candidate is:
// OpenCL C, which a driver's compiler has accepted; on PoCL it runs as code of this process.
SandboxPolicy opencl_sandbox(const wire::DeviceInfoT&) { return {.calls = SystemCalls::Builds}; }

}  // namespace fettle::agent
