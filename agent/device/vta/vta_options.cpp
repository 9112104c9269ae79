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

// The FPGA helper, who reads it, may stand in another folder, and knows it when it starts.
Result<void> set_bitstream(DeviceConfig& device, const std::string& value) {
  if (value.empty() || value[0] != '/') {
    return wrong_option(kVtaBitstream, "takes a file's whole path, not '" + value + "'");
  }
  device.settings[kVtaBitstream] = value;
  return {};
}

}  // namespace

std::span<const DeviceOption> vta_options() {
  static constexpr DeviceOption options[] = {
      {kVtaDesign, "NAME", "the accelerator's design (default: pynq)", set_design},
      {kVtaCore, "NAME",
       "who plays the core: simulator (default), or board, in the programmable logic", set_core},
      {kVtaBitstream, "FILE",
       "what the board's logic is programmed with (default: /lib/firmware/fettle/DESIGN.bit)",
       set_bitstream},
  };
  return options;
}

}  // namespace fettle::agent
