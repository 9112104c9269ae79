// OpenCL devices, for kernels that users write (backend.h).
#include "host/backend/opencl_c/backend.h"

#include <nlohmann/json.hpp>

#include "host/backend/own_kernel/opencl_kernel.h"

namespace fettle::backend::opencl_c {
namespace {

class OpenClBackend final : public Backend {
 public:
  const char* name() const override { return "opencl_c"; }
  wire::DeviceKind kind() const override { return wire::DeviceKind::OpenCl; }
  Result<space::Target> target_for(const wire::DeviceInfoT& device,
                                   std::span<const HardwareValue>) const override {
    if (device.kind != kind() || !device.gpu) {
      return Error{ErrorCode::Unsupported, "device " + device.key + " is not an OpenCL device"};
    }
    const nlohmann::json text{{"backend", name()},
                              {"threads_per_block", device.gpu->max_threads_per_block},
                              {"shared_bytes", device.gpu->shared_bytes_per_block},
                              {"compute_units", device.gpu->compute_units},
                              {"memory_bytes", device.memory_limit_bytes}};
    return space::Target::parse(text.dump());
  }
  std::span<const HardwareKey> hardware_keys() const override { return {}; }
  Result<std::unique_ptr<const Task>> open(space::ComputeDag, const space::Target&) const override {
    return Error{ErrorCode::Unsupported, "no code is generated for OpenCL devices"};
  }
  Result<std::unique_ptr<const Task>> open_kernel(space::OwnKernel kernel,
                                                  const space::Target& target) const override {
    if (kernel.language != space::KernelLanguage::OpenClC) {
      return Backend::open_kernel(std::move(kernel), target);
    }
    return open_opencl_kernel(std::move(kernel), target);
  }
  std::vector<std::string> feature_names() const override { return {}; }
  bool teaches(const space::Target&, const space::Target&) const override { return false; }
  std::vector<LocalDevice> local_devices() const override {
    return {{"local-opencl", {"--device-kind", "opencl"}, false}};
  }
  Result<std::vector<CalibrationProgram>> calibration(const space::Target&) const override {
    return Error{ErrorCode::Unsupported, "an OpenCL device is not calibrated"};
  }
};

}  // namespace

const Backend& opencl_backend() {
  static const OpenClBackend backend;
  return backend;
}

}  // namespace fettle::backend::opencl_c
