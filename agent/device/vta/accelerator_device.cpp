// Programs of streams on an accelerator (accelerator_device.h).
#include "agent/device/vta/accelerator_device.h"

#include "agent/device/offload_device.h"
#include "runtime/vta/vta_executor.h"
#include "runtime/vta/vta_image.h"
#include "runtime/vta/vta_memory.h"

namespace fettle::agent {
namespace {

class AcceleratorDevice final : public OffloadDevice {
 public:
  AcceleratorDevice(wire::DeviceInfoT info, std::unique_ptr<runtime::Accelerator> accelerator)
      : OffloadDevice(std::move(info)),
        accelerator_(std::move(accelerator)),
        arena_(accelerator_->memory()),
        memory_(arena_),
        loader_(accelerator_->design()),
        executor_(*accelerator_, arena_) {}
  ~AcceleratorDevice() override { reset(); }

  // The logic of an emulated board is a simulator, too: its cycles are always the same.
  bool exact() const override {
    const bool simulated = info_.emulated && info_.clock == wire::ClockDomain::AcceleratorCycles;
    return simulated || accelerator_->exact();
  }
  bool lost() const override { return accelerator_->lost(); }

 private:
  Parts parts() override { return {memory_, {{wire::ImageKind::VtaStream, loader_, executor_}}}; }
  Result<void> download(const runtime::BufferMemory& from, Bytes& to) override {
    to.assign(from.data().begin(), from.data().end());
    return {};
  }
  Result<void> synchronize() override { return {}; }

  std::unique_ptr<runtime::Accelerator> accelerator_;  // gone last
  runtime::Arena arena_;
  runtime::VtaMemory memory_;
  runtime::VtaLoader loader_;
  runtime::VtaExecutor executor_;
};

}  // namespace

std::unique_ptr<Device> make_accelerator_device(wire::DeviceInfoT info,
                                                std::unique_ptr<runtime::Accelerator> accelerator) {
  return std::make_unique<AcceleratorDevice>(std::move(info), std::move(accelerator));
}

}  // namespace fettle::agent
