// The back ends that there are, one row each.
#include <algorithm>

#include "host/backend/backend.h"
#include "host/backend/cpu_llvm/backend.h"
#include "host/backend/cuda_ptx/backend.h"
#include "host/backend/opencl_c/backend.h"
#include "host/backend/vta/backend.h"

namespace fettle::backend {
namespace {

std::vector<const Backend*>& rows() {
  static std::vector<const Backend*> rows = {
      &cpu_llvm::cpu_backend(),
      &cuda_ptx::cuda_backend(),
      &opencl_c::opencl_backend(),
      &vta::host::vta_backend(),
  };
  return rows;
}

Error no_backend(const std::string& name) {
  return {ErrorCode::Unsupported, "no back end \"" + name + "\" in this build"};
}

}  // namespace

Result<std::unique_ptr<const Task>> Backend::open_kernel(space::OwnKernel kernel,
                                                         const space::Target&) const {
  return Error{ErrorCode::Unsupported,
               kernel.source.file + " is " + space::name_of(kernel.language) +
                   ", which is nothing for a device of the back end " + name()};
}

Result<std::vector<float>> Task::itervar_features(const space::Configuration&) const {
  return Error{ErrorCode::Unsupported, "its programs are not lowered from loops"};
}

Result<std::string> Task::timeline(const space::Configuration&) const {
  return Error{ErrorCode::Unsupported,
               "there is a timeline of the VTA accelerator's programs only: this is for another "
               "device"};
}

std::span<const Backend* const> backends() { return rows(); }

const Backend* find_backend(const std::string& name) {
  const auto found = std::find_if(rows().begin(), rows().end(),
                                  [&](const Backend* row) { return name == row->name(); });
  return found == rows().end() ? nullptr : *found;
}

void add_backend(const Backend& backend) { rows().push_back(&backend); }

Result<space::Target> target_for(const wire::DeviceInfoT& device,
                                 std::span<const HardwareValue> hardware) {
  for (const Backend* row : rows()) {
    if (row->serves(device.kind)) return row->target_for(device, hardware);
  }
  return Error{ErrorCode::Unsupported, "no back end in this build for device " + device.key +
                                           ", of kind " + wire::EnumNameDeviceKind(device.kind)};
}

Result<std::unique_ptr<const Task>> open_task(space::ComputeDag dag, const space::Target& target) {
  if (const Backend* backend = find_backend(target.backend())) {
    return backend->open(std::move(dag), target);
  }
  return no_backend(target.backend());
}

Result<std::unique_ptr<const Task>> open_task(const space::Workload& workload,
                                              const space::Target& target) {
  if (!workload.kernel()) return open_task(workload.dag(), target);
  const Backend* backend = find_backend(target.backend());
  return backend ? backend->open_kernel(*workload.kernel(), target) : no_backend(target.backend());
}

Result<std::vector<CalibrationProgram>> calibration_programs(const space::Target& target) {
  if (const Backend* backend = find_backend(target.backend())) return backend->calibration(target);
  return no_backend(target.backend());
}

std::optional<std::int64_t> value_of(std::span<const HardwareValue> hardware,
                                     const std::string& name) {
  std::optional<std::int64_t> value;
  for (const HardwareValue& each : hardware) {
    if (each.name == name) value = each.value;
  }
  return value;
}

}  // namespace fettle::backend
