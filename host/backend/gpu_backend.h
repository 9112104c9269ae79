// The row of a back end for GPUs, made of its language.
#pragma once

#include "host/backend/backend.h"
#include "host/backend/gpu_language.h"

namespace fettle::backend {

class GpuBackend final : public Backend {
 public:
  explicit GpuBackend(GpuLanguage language) : language_(std::move(language)) {}

  const char* name() const override { return language_.name; }
  wire::DeviceKind kind() const override { return language_.kind; }
  Result<space::Target> target_for(const wire::DeviceInfoT& device,
                                   std::span<const HardwareValue> hardware) const override;
  std::span<const HardwareKey> hardware_keys() const override { return language_.hardware_keys; }
  Result<std::unique_ptr<const Task>> open(space::ComputeDag dag,
                                           const space::Target& target) const override;
  Result<std::unique_ptr<const Task>> open_kernel(space::OwnKernel kernel,
                                                  const space::Target& target) const override;
  std::vector<std::string> feature_names() const override;
  bool teaches(const space::Target& recorded, const space::Target& target) const override;
  std::vector<LocalDevice> local_devices() const override { return {language_.local}; }
  Result<std::vector<CalibrationProgram>> calibration(const space::Target& target) const override;

 private:
  GpuLanguage language_;
};

}  // namespace fettle::backend
