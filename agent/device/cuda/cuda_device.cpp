// The CUDA device (cuda_device.h).
#include "agent/device/cuda/cuda_device.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "agent/device/cuda/cuda_facts.h"
#include "agent/device/cuda/cuda_row.h"
#include "agent/device/fault_map.h"
#include "runtime/cuda/cuda_memory.h"
#include "runtime/loaded_program.h"

namespace fettle::agent {
namespace {

// A driver that dies while it compiles or runs a candidate died of it.
struct CandidateScope {
  CandidateScope() { fault_map().candidate_running.store(true); }
  ~CandidateScope() { fault_map().candidate_running.store(false); }
};

std::string extra(const wire::DeviceInfoT& info, const char* name, const char* otherwise) {
  for (const auto& value : info.extra) {
    if (value->name == name) return value->value;
  }
  return otherwise;
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(wire::DeviceInfoT info) : info_(std::move(info)) {}
  ~CudaDevice() override { reset(); }

  // Once. The context is left to the end of the process: a lost one may not want to go.
  Result<void> open() {
    auto driver = runtime::CudaDriver::load(extra(info_, kCudaLibrary, "libcuda.so.1"));
    if (!driver) return std::move(driver).error();
    driver_ = std::move(*driver);
    const auto& call = driver_->call();
    int count = 0;
    if (auto told = driver_->check(call.device_count(&count), "cuDeviceGetCount"); !told) {
      return told;
    }
    const int ordinal = std::atoi(extra(info_, kCudaDevice, "0").c_str());
    if (ordinal >= count) {
      return Error{ErrorCode::NotFound, "the driver knows " + std::to_string(count) +
                                            " GPUs, there is no number " + std::to_string(ordinal)};
    }
    CUdevice device = 0;
    if (auto got = driver_->check(call.device(&device, ordinal), "cuDeviceGet"); !got) return got;
    if (auto told = read_cuda_facts(*driver_, device, info_); !told) return told;
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

  const wire::DeviceInfoT& info() const override { return info_; }

  Result<std::uint64_t> prepare(const wire::ProgramT& program, const PrepareOptions& options,
                                const BlobLookup& blobs) override {
    reset();
    if (auto fits = check_fit(program, options); !fits) return std::move(fits).error();
    CandidateScope scope;
    const runtime::Kind kinds[] = {{wire::ImageKind::Ptx, *loader_, *executor_},
                                   {wire::ImageKind::Cubin, *loader_, *executor_}};
    auto loaded = runtime::LoadedProgram::load(program, *memory_, kinds, blobs);
    if (!loaded) return std::move(loaded).error();
    program_.emplace(std::move(*loaded));
    for (std::size_t i = 0; i < program.buffers.size(); ++i) {
      names_.push_back(runtime::name_of(program, i));
    }
    if (auto ready = synchronize(); !ready) return std::move(ready).error();
    if (!program_->has_prepare_launches()) return std::uint64_t{0};
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

  Result<ByteView> read(std::uint32_t buffer) override {
    if (!program_ || buffer >= program_->buffers().size()) {
      return Error{ErrorCode::InvalidArgument, "no such buffer"};
    }
    const auto& from = static_cast<const runtime::CudaBuffer&>(*program_->buffers()[buffer]);
    read_.resize(from.bytes());
    if (auto done = from.download(read_); !done) return std::move(done).error();
    return ByteView(read_);
  }

  std::uint8_t unwritten_byte(wire::ScalarType type) const override {
    return runtime::unwritten_byte(type);
  }

  // Tells of the first damage and mends all.
  Result<void> check_surroundings() override {
    Result<void> found;
    if (!program_ || !unchecked_) return found;
    unchecked_ = false;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      runtime::BufferMemory& memory = *program_->buffers()[i];
      const auto damage = memory.damage();
      if (!damage) return damage.error();
      if (damage->empty()) continue;
      memory.mend();
      if (found) found = Error{ErrorCode::StrayWrite, names_[i] + ": " + *damage};
    }
    return found;
  }

  // Writes more than the L2 holds; the caches before it keep nothing from launch to launch.
  void flush_caches() override {
    driver_->call().set_bytes(flush_, ++flushed_, flush_bytes(), stream_);
    (void)!synchronize();
  }

  void reset() override {
    // Buffers are used again: the next program must not be blamed for what this one did.
    if (unchecked_ && !lost()) (void)check_surroundings();
    unchecked_ = false;
    names_.clear();
    program_.reset();
  }

  bool lost() const override { return driver_ && driver_->lost(); }

 private:
  Result<void> open_parts() {
    auto memory = runtime::CudaMemory::make(
        *driver_, stream_, std::min<std::uint64_t>(info_.memory_limit_bytes / 4, 256u << 20));
    if (!memory) return std::move(memory).error();
    memory_ = std::move(*memory);
    auto executor = runtime::CudaExecutor::make(*driver_, stream_, launch_limits(*info_.gpu));
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

  Result<void> synchronize() {
    return driver_->check(driver_->call().synchronize(stream_), "cuStreamSynchronize");
  }

  Result<void> check_fit(const wire::ProgramT& program, const PrepareOptions& options) const {
    if (options.threads != 1) {
      return Error{ErrorCode::InvalidArgument, std::to_string(options.threads) +
                                                   " threads wanted, a GPU's launches say "
                                                   "themselves how many they have"};
    }
    std::uint64_t total = 0;
    for (const auto& buffer : program.buffers) total += buffer->bytes;
    if (total > info_.memory_limit_bytes) {
      return Error{ErrorCode::OutOfMemory, "the program needs " + std::to_string(total >> 20) +
                                               " MiB, the device's limit is " +
                                               std::to_string(info_.memory_limit_bytes >> 20)};
    }
    return {};
  }

  wire::DeviceInfoT info_;
  std::unique_ptr<runtime::CudaDriver> driver_;  // gone last
  CUstream stream_ = nullptr;
  std::unique_ptr<runtime::CudaMemory> memory_;
  std::unique_ptr<runtime::CudaExecutor> executor_;
  std::unique_ptr<runtime::CudaLoader> loader_;
  CUdeviceptr flush_ = 0;
  std::uint8_t flushed_ = 0;
  bool unchecked_ = false;  // code of the program ran since the last look at its surroundings
  Bytes read_;
  std::vector<std::string> names_;
  std::optional<runtime::LoadedProgram> program_;  // gone before memory_
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
