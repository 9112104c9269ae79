// Streams as runs of a kernel (xrt_accelerator.h).
#include "runtime/xrt/xrt_accelerator.h"

#include <algorithm>

#include "fpga/config/register_map.h"
#include "fpga/isa/encoding.h"
#include "fpga/xrt/kernel.h"

namespace fettle::runtime {
namespace {

constexpr std::uint64_t kPage = 4096;
// Beside what a stream may take by its clock: a busy machine, the way to the device and back.
constexpr unsigned kPatienceMs = 1000;

// XRT's handles, freed in the order in which they were made, backwards.
class Handles {
 public:
  explicit Handles(const XrtDriver& driver) : driver_(driver) {}
  Handles(const Handles&) = delete;
  ~Handles() {
    const XrtCalls& call = driver_.call();
    if (run) call.RunClose(run);
    if (buffer) call.BOFree(buffer);
    if (kernel) call.KernelClose(kernel);
    if (device) call.DeviceClose(device);
  }
  XrtCalls::Handle device = nullptr, kernel = nullptr, buffer = nullptr, run = nullptr;

 private:
  const XrtDriver& driver_;
};

class XrtAccelerator final : public Accelerator {
 public:
  XrtAccelerator(std::unique_ptr<XrtDriver> driver, vta::XrtKernel kernel)
      : driver_(std::move(driver)), handles_(*driver_), kernel_(std::move(kernel)) {}

  const vta::Design& design() const override { return kernel_.design; }
  const ContiguousMemory& memory() const override { return memory_; }
  bool exact() const override { return false; }
  bool lost() const override { return lost_; }

  Result<void> open(const XrtSettings& settings, ByteView xclbin) {
    const XrtCalls& call = driver_->call();
    const bool number = settings.device.find_first_not_of("0123456789") == std::string::npos;
    handles_.device = number ? call.DeviceOpen(static_cast<unsigned>(std::stoul(settings.device)))
                             : call.DeviceOpenByBDF(settings.device.c_str());
    if (!handles_.device) {
      return driver_->error(ErrorCode::NotFound, number ? "xrtDeviceOpen" : "xrtDeviceOpenByBDF");
    }
    if (call.DeviceLoadXclbin(handles_.device, xclbin.data()) != 0) {
      return driver_->error(ErrorCode::LoadError, "xrtDeviceLoadXclbin")
          .in("loading an .xclbin for the platform " + kernel_.platform);
    }
    unsigned char uuid[16];
    if (call.DeviceGetXclbinUUID(handles_.device, uuid) != 0) {
      return driver_->error(ErrorCode::LoadError, "xrtDeviceGetXclbinUUID");
    }
    // Exclusive: whose registers are ours to read.
    handles_.kernel = call.PLKernelOpenExclusive(handles_.device, uuid, kernel_.name.c_str());
    if (!handles_.kernel) {
      return driver_->error(ErrorCode::LoadError, "xrtPLKernelOpenExclusive")
          .in("opening the kernel " + kernel_.name);
    }
    if (auto same = check_core(); !same) return same;
    if (auto taken = take_memory(settings.memory_bytes); !taken) return taken;
    handles_.run = call.RunOpen(handles_.kernel);
    if (!handles_.run) return driver_->error(ErrorCode::LoadError, "xrtRunOpen");
    if (call.RunSetArg(handles_.run, vta::kXrtMemory, handles_.buffer) != 0) {
      return driver_->error(ErrorCode::LoadError, "xrtRunSetArg");
    }
    return {};
  }

  Result<std::uint64_t> run(std::uint64_t address, std::uint32_t count,
                            std::uint64_t limit) override {
    const XrtCalls& call = driver_->call();
    const std::uint64_t used = address + count * vta::kWordBytes - memory_.address;
    if (auto there = sync(kXrtToDevice, used); !there) return std::move(there).error();
    if (call.RunSetArg(handles_.run, vta::kXrtInstructionCount, count) != 0 ||
        call.RunSetArg(handles_.run, vta::kXrtInstructionAddress,
                       static_cast<std::uint32_t>(address)) != 0) {
      return failed("xrtRunSetArg");
    }
    if (call.RunStart(handles_.run) != 0) return failed("xrtRunStart");
    if (auto ended = wait(limit); !ended) return std::move(ended).error();
    auto cycles = read_result();
    if (!cycles) return cycles;
    if (auto back = sync(kXrtFromDevice, used); !back) return std::move(back).error();
    return cycles;
  }

 private:
  // The worker that has it starts anew: nothing that the device still does may meet another run.
  Error failed(const char* call) {
    lost_ = true;
    return driver_->error(ErrorCode::WorkerLost, call);
  }

  // Until the run has ended; RunTimeout when it had to be stopped.
  Result<void> wait(std::uint64_t limit) {
    const XrtCalls& call = driver_->call();
    const auto allowed = static_cast<unsigned>(limit / kernel_.clock_khz) + kPatienceMs;
    int state = call.RunWaitFor(handles_.run, allowed);
    if (state == kXrtCompleted) return {};
    if (state != kXrtTimeout) {
      lost_ = true;
      return Error{ErrorCode::WorkerLost, "xrtRunWaitFor: " + name_of_run_state(state)};
    }
    const Error late{ErrorCode::RunTimeout,
                     "the kernel is not done after " + std::to_string(allowed) + " ms"};
    const auto& stop = *vta::register_map(design().core).stop;
    const bool told = call.KernelWriteRegister(handles_.kernel, vta::kXrtCoreRegisters + stop.first,
                                               stop.second) == 0;
    state = told ? call.RunWaitFor(handles_.run, kPatienceMs) : static_cast<int>(kXrtTimeout);
    if (state == kXrtCompleted) return late;
    lost_ = true;
    return Error{late.code, late.message + ", and does not stop: the device is opened anew"};
  }

  Result<std::uint32_t> read(std::uint32_t offset) {
    std::uint32_t value = 0;
    const int done = driver_->call().KernelReadRegister(handles_.kernel,
                                                        vta::kXrtCoreRegisters + offset, &value);
    if (done != 0) return driver_->error(ErrorCode::LoadError, "xrtKernelReadRegister");
    return value;
  }

  Result<std::uint64_t> read_result() {
    const vta::RegisterMap& map = vta::register_map(design().core);
    const auto errors = read(map.healthy->offset);
    const auto low = read(*map.cycles_low), high = read(*map.cycles_high);
    for (const auto* each : {&errors, &low, &high}) {
      if (!*each) return failed("xrtKernelReadRegister");
    }
    if ((*errors & map.healthy->mask) != map.healthy->value) {
      return Error{ErrorCode::Internal, "the core ended with errors " + std::to_string(*errors) +
                                            " (1 reading, 2 writing, 4 an unknown instruction)"};
    }
    return std::uint64_t{*high} << 32 | *low;
  }

  // What the kernel's registers say it is.
  Result<void> check_core() {
    const vta::RegisterMap& map = vta::register_map(design().core);
    const auto identification = read(map.identification->offset);
    if (!identification) return identification.error();
    if ((*identification & map.identification->mask) != map.identification->value) {
      return Error{ErrorCode::WrongConfiguration,
                   "the kernel's registers are not those of fettle's core"};
    }
    std::string says;
    for (std::uint32_t word = 0; word < 8; ++word) {
      const auto value = read(*map.identity + 4 * word);
      if (!value) return value.error();
      for (unsigned shift = 0; shift < 32; shift += 4) {
        says += "0123456789abcdef"[*value >> (shift ^ 4) & 15];  // the first byte is the lowest
      }
    }
    const std::string own = to_hex(design().identity());
    if (says == own) return {};
    return Error{ErrorCode::WrongConfiguration,
                 "the kernel is of the design '" + design().name + "' (" + own.substr(0, 12) +
                     ") by its name, and by its registers of " + says.substr(0, 12)};
  }

  Result<void> take_memory(std::uint64_t bytes) {
    const XrtCalls& call = driver_->call();
    const int group = call.KernelArgGroupId(handles_.kernel, vta::kXrtMemory);
    if (group < 0) return driver_->error(ErrorCode::LoadError, "xrtKernelArgGroupId");
    const std::uint64_t whole = (bytes + kPage - 1) / kPage * kPage + kPage;
    handles_.buffer = call.BOAlloc(handles_.device, whole, 0, static_cast<std::uint32_t>(group));
    if (!handles_.buffer) return driver_->error(ErrorCode::OutOfMemory, "xrtBOAlloc");
    void* mapped = call.BOMap(handles_.buffer);
    if (!mapped) return driver_->error(ErrorCode::OutOfMemory, "xrtBOMap");
    const std::uint64_t begin = call.BOAddress(handles_.buffer);
    const auto low = static_cast<std::uint32_t>(begin);
    if (begin % kPage != 0 || begin >> 32 != (begin + whole - 1) >> 32) {
      return Error{ErrorCode::OutOfMemory,
                   "XRT's buffer lies across a multiple of 4 GiB: ask for less memory"};
    }
    // Not its first page: address 0 is none.
    memory_ = {
        low + kPage,
        {static_cast<std::uint8_t*>(mapped) + kPage, static_cast<std::size_t>(whole - kPage)}};
    std::fill(memory_.bytes.begin(), memory_.bytes.end(), std::uint8_t{0});
    return {};
  }

  // The first `bytes` of memory(), and the page before: from the buffer's beginning, as hw_emu does
  // not take an offset right.
  Result<void> sync(XrtSync direction, std::uint64_t bytes) {
    if (driver_->call().BOSync(handles_.buffer, direction, kPage + bytes, 0) == 0) return {};
    return failed("xrtBOSync");
  }

  std::unique_ptr<XrtDriver> driver_;  // gone last
  Handles handles_;
  vta::XrtKernel kernel_;
  ContiguousMemory memory_;
  bool lost_ = false;
};

}  // namespace

Result<std::unique_ptr<Accelerator>> make_xrt_accelerator(const XrtSettings& settings,
                                                          ByteView xclbin) {
  auto kernel = vta::read_xrt_kernel(xclbin);
  if (!kernel) return std::move(kernel).error();
  auto driver = XrtDriver::load(settings.libraries);
  if (!driver) return std::move(driver).error();
  auto out = std::make_unique<XrtAccelerator>(std::move(*driver), std::move(*kernel));
  if (auto opened = out->open(settings, xclbin); !opened) return std::move(opened).error();
  return std::unique_ptr<Accelerator>(std::move(out));
}

}  // namespace fettle::runtime
