// The CUDA device (cuda_device.h).
#include "agent/device/cuda/cuda_device.h"

#include <algorithm>
#include <cstdlib>

#include "agent/device/cuda/cuda_facts.h"
#include "agent/device/cuda/cuda_row.h"
#include "agent/device/cuda/nvml.h"
#include "agent/device/offload_device.h"
#include "runtime/cuda/cuda_memory.h"

namespace fettle::agent {
namespace {

class CudaDevice final : public OffloadDevice {
 public:
  explicit CudaDevice(wire::DeviceInfoT info) : OffloadDevice(std::move(info)) {}
  ~CudaDevice() override { reset(); }

  // Once. The context is left to the end of the process: a lost one may not want to go.
  Result<void> open() {
    auto driver = runtime::CudaDriver::load(extra(kCudaLibrary, "libcuda.so.1"));
    if (!driver) return std::move(driver).error();
    driver_ = std::move(*driver);
    const auto& call = driver_->call();
    int count = 0;
    if (auto told = driver_->check(call.device_count(&count), "cuDeviceGetCount"); !told) {
      return told;
    }
    const int ordinal = std::atoi(extra(kCudaDevice, "0").c_str());
    if (ordinal >= count) {
      return Error{ErrorCode::NotFound, "the driver knows " + std::to_string(count) +
                                            " GPUs, there is no number " + std::to_string(ordinal)};
    }
    CUdevice device = 0;
    if (auto got = driver_->check(call.device(&device, ordinal), "cuDeviceGet"); !got) return got;
    if (auto told = read_cuda_facts(*driver_, device, info_); !told) return told;
    char bus[32] = {};
    if (call.pci_bus_id && call.pci_bus_id(bus, sizeof bus, device) == CUDA_SUCCESS) {
      nvml_ = Nvml::open(extra(kNvmlLibrary, "libnvidia-ml.so.1"), bus);
    }
    CUcontext context = nullptr;
    if (auto made = driver_->check(
            call.create_context(&context, CU_CTX_SCHED_BLOCKING_SYNC, device), "cuCtxCreate");
        !made) {
      return made;
    }
    // Copies, which are in the default stream, wait for this one and it for them.
    if (auto made =
            driver_->check(call.create_stream(&stream_, CU_STREAM_DEFAULT), "cuStreamCreate");
        !made) {
      return made;
    }
    return open_parts();
  }

  // Writes more than the L2 holds; the caches before it keep nothing from launch to launch.
  void flush_caches() override {
    driver_->call().set_bytes(flush_, ++flushed_, flush_bytes(), stream_);
    (void)!synchronize();
  }

  DriverReading conditions() const override { return nvml_ ? nvml_->read() : DriverReading{}; }

  bool lost() const override { return driver_ && driver_->lost(); }

 private:
  Parts parts() override {
    return {*memory_,
            {{wire::ImageKind::Ptx, *loader_, *executor_},
             {wire::ImageKind::Cubin, *loader_, *executor_}}};
  }
  Result<void> download(const runtime::BufferMemory& from, Bytes& to) override {
    const auto& buffer = static_cast<const runtime::CudaBuffer&>(from);
    to.resize(buffer.bytes());
    return buffer.download(to);
  }
  Result<void> synchronize() override {
    return driver_->check(driver_->call().synchronize(stream_), "cuStreamSynchronize");
  }

  Result<void> open_parts() {
    auto memory = runtime::CudaMemory::make(*driver_, stream_, kept_bytes());
    if (!memory) return std::move(memory).error();
    memory_ = std::move(*memory);
    auto executor = runtime::CudaExecutor::make(*driver_, stream_, cuda_limits(*info_.gpu));
    if (!executor) return std::move(executor).error();
    executor_ = std::move(*executor);
    loader_ = std::make_unique<runtime::CudaLoader>(*driver_);
    return driver_->check(driver_->call().allocate(&flush_, flush_bytes()), "cuMemAlloc")
               ? Result<void>()
               : Error{ErrorCode::OutOfMemory, "the GPU has no room for what flushes its cache"};
  }

  std::uint64_t flush_bytes() const {
    return std::max<std::uint64_t>(2 * info_.gpu->l2_bytes, 1u << 20);
  }

  std::unique_ptr<runtime::CudaDriver> driver_;  // gone last
  std::unique_ptr<Nvml> nvml_;                   // null: nobody tells
  CUstream stream_ = nullptr;
  std::unique_ptr<runtime::CudaMemory> memory_;
  std::unique_ptr<runtime::CudaExecutor> executor_;
  std::unique_ptr<runtime::CudaLoader> loader_;
  CUdeviceptr flush_ = 0;
  std::uint8_t flushed_ = 0;
};

}  // namespace

Result<std::unique_ptr<Device>> open_cuda(const wire::DeviceInfoT& info) {
  // A candidate is compiled once: the driver's cache of PTX would fill the board's disk, and
  // the sandbox lets no file be written. Loading whole modules at once tells errors at load.
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  auto device = std::make_unique<CudaDevice>(info);
  if (auto opened = device->open(); !opened) return std::move(opened).error();
  return std::unique_ptr<Device>(std::move(device));
}

// The driver maps and opens what it likes while it compiles and runs: its compiler's library is
// loaded with the first PTX, memory is mapped beyond the machine's own. So there is neither a
// bound of the address space nor a list of calls that are allowed, but one of calls that are not
// (seccomp.h). A candidate's own code runs on the GPU and makes no calls.
SandboxPolicy cuda_sandbox(const wire::DeviceInfoT&) { return {.calls = SystemCalls::Driver}; }

}  // namespace fettle::agent
