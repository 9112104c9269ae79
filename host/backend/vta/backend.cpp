// The accelerator's row (backend.h).
#include "host/backend/vta/backend.h"

#include "host/backend/vta/features.h"
#include "host/backend/vta/task.h"

namespace fettle::vta::host {
namespace {

using backend::HardwareKey;
using backend::HardwareValue;

constexpr HardwareKey kKeys[] = {{"memory_bytes", 1 << 20, std::int64_t{1} << 32}};

class VtaBackend final : public backend::Backend {
 public:
  const char* name() const override { return kBackend; }
  wire::DeviceKind kind() const override { return wire::DeviceKind::Vta; }
  bool accelerates() const override { return true; }
  bool serves(wire::DeviceKind device) const override { return is_accelerator(device); }

  Result<space::Target> target_for(const wire::DeviceInfoT& device,
                                   std::span<const HardwareValue> hardware) const override {
    auto target = DesignTarget::of(device);
    if (!target) return std::move(target).error();
    target->memory_bytes =
        backend::value_of(hardware, "memory_bytes").value_or(target->memory_bytes);
    return target->target();
  }

  // Sizes are a design's, and no program for other sizes runs on it.
  std::span<const HardwareKey> hardware_keys() const override { return kKeys; }

  Result<std::unique_ptr<const backend::Task>> open(space::ComputeDag dag,
                                                    const space::Target& target) const override {
    auto design = DesignTarget::parse(target);
    if (!design) return std::move(design).error();
    return open_task(dag, std::move(*design));
  }

  std::vector<std::string> feature_names() const override { return host::feature_names(); }

  bool teaches(const space::Target& recorded, const space::Target& target) const override {
    const auto there = DesignTarget::parse(recorded), here = DesignTarget::parse(target);
    return there && here && there->design.text() == here->design.text();
  }

  std::vector<backend::LocalDevice> local_devices() const override {
    return {{"vta-sim", {"--device-kind", "vta"}},
            {"vta-rtl", {"--device-kind", "vta", "--vta-core", "rtl"}}};
  }

  // Its ceilings are its design's: one micro-op a cycle, eight bytes a cycle (bound.h).
  Result<std::vector<backend::CalibrationProgram>> calibration(
      const space::Target&) const override {
    return Error{ErrorCode::Unsupported, "the VTA accelerator has no programs for calibration"};
  }
};

}  // namespace

const backend::Backend& vta_backend() {
  static const VtaBackend backend;
  return backend;
}

}  // namespace fettle::vta::host
