// The options that a VTA device knows.
#include "agent/device/vta/vta_core.h"
#include "agent/device/vta/vta_device.h"

namespace fettle::agent {
namespace {

// Sets `option` to one of the names that there are.
template <typename Row>
Result<void> choose(DeviceConfig& device, const char* option, const std::string& value,
                    std::span<const Row> rows) {
  std::string known;
  for (const Row& row : rows) {
    if (value == row.name) {
      device.settings[option] = value;
      return {};
    }
    known += std::string(known.empty() ? "" : ", ") + row.name;
  }
  return wrong_option(option, "takes one of " + known + ", not '" + value + "'");
}

Result<void> set_design(DeviceConfig& device, const std::string& value) {
  return choose(device, kVtaDesign, value, std::span(vta::designs()));
}

Result<void> set_core(DeviceConfig& device, const std::string& value) {
  return choose(device, kVtaCore, value, vta_cores());
}

}  // namespace

std::span<const DeviceOption> vta_options() {
  static constexpr DeviceOption options[] = {
      {kVtaDesign, "NAME", "the accelerator's design (default: pynq)", set_design},
      {kVtaCore, "NAME", "who plays the core (default: simulator)", set_core},
  };
  return options;
}

}  // namespace fettle::agent
