// The suite on the accelerator in this board's programmable logic, as its agent drives it: run as
// root, while no agent has it. Skips where there is none.
//   FETTLE_BITSTREAM=FILE   the design pynq's (default: /lib/firmware/fettle/pynq.bit)
//   FETTLE_EMULATED=1       an emulated board: memory mapped past the caches will do
#include <unistd.h>
#include <cstdlib>

#include "agent/device/vta/vta_core.h"
#include "tests/conformance/vta_kind.h"

namespace fettle::agent {
namespace {

DeviceConfig config() {
  DeviceConfig device;
  device.kind = wire::DeviceKind::Vta;
  device.key = "conformance";
  device.emulated = std::getenv("FETTLE_EMULATED") != nullptr;
  device.memory_limit_bytes = std::uint64_t{32} << 20;
  device.settings[kVtaCore] = kBoardCore;
  if (const char* file = std::getenv("FETTLE_BITSTREAM")) device.settings[kVtaBitstream] = file;
  return device;
}

std::string why_not() {
  if (const auto manager = FpgaManager::find(SystemRoot()); !manager) {
    return manager.error().message;
  }
  const std::string file = helper_devices({config()}).front().logic.file;
  return ::access(file.c_str(), R_OK) == 0 ? "" : "cannot read " + file;
}

// Forked once, before any test; it ends with this program.
std::string helper_address() {
  static const std::string address = [] {
    if (!why_not().empty()) return std::string();
    std::vector<DeviceConfig> devices = {config()};
    const auto found = find_fpga_helper(devices, SystemRoot());
    EXPECT_TRUE(found.ok()) << found.error().text();
    return devices.front().settings[kVtaHelper];
  }();
  return address;
}

INSTANTIATE_TEST_SUITE_P(, Conformance,
                         ::testing::Values(vta_kind("VtaBoard", kBoardCore, why_not,
                                                    helper_address())),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fettle::agent
