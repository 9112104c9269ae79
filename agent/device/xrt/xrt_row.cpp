// The supervisor's half of accelerators behind XRT (xrt_row.h).
#include "agent/device/xrt/xrt_row.h"

#include <algorithm>
#include <cctype>

#include "agent/device/vta/vta_device.h"
#include "agent/device/xrt/xclbin_file.h"
#include "fpga/xrt/kernel.h"

namespace fettle::agent {
namespace {

Result<vta::XrtKernel> read_kernel(const std::string& path) {
  const auto file = read_xclbin_file(path);
  if (!file) return file.error();
  return vta::read_xrt_kernel(*file);
}

Result<void> set_xclbin(DeviceConfig& device, const std::string& value) {
  const auto kernel = read_kernel(value);
  if (!kernel) return wrong_option(kXrtXclbin, value + ": " + kernel.error().text());
  device.settings[kXrtXclbin] = value;
  return {};
}

// "0000:03:00.1".
bool is_pci_address(const std::string& text) {
  return text.find(':') != std::string::npos &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isxdigit(c) || c == ':' || c == '.'; });
}

Result<void> set_device(DeviceConfig& device, const std::string& value) {
  std::uint64_t number;
  if (!parse_number(value, 255, number) && !is_pci_address(value)) {
    return wrong_option(kXrtDevice, "takes a number from 0 or a PCI address, not '" + value + "'");
  }
  device.settings[kXrtDevice] = value;
  return {};
}

Result<void> set_library(DeviceConfig& device, const std::string& value) {
  if (value.empty()) return wrong_option(kXrtLibrary, "takes names or paths, with commas between");
  device.settings[kXrtLibrary] = value;
  return {};
}

}  // namespace

wire::DeviceInfoT describe_xrt(const DeviceConfig& config, const SystemRoot&) {
  const auto path = config.settings.find(kXrtXclbin);
  const auto kernel = path == config.settings.end()
                          ? Result<vta::XrtKernel>(Error{ErrorCode::NotFound, ""})
                          : read_kernel(path->second);
  const vta::Design& design = kernel ? kernel->design : vta::designs().front();
  wire::DeviceInfoT info =
      describe_design(config, design, "through XRT", kernel ? kernel->clock_khz : design.clock_khz);
  info.kind = wire::DeviceKind::Xrt;
  for (const auto& [setting, value] : config.settings) {
    info.extra.push_back(std::make_unique<wire::NamedValueT>());
    info.extra.back()->name = setting;
    info.extra.back()->value = value;
  }
  return info;
}

SelfTestProgram xrt_self_test(const wire::DeviceInfoT& info) { return vta_self_test(info); }

std::span<const DeviceOption> xrt_options() {
  static constexpr DeviceOption options[] = {
      {kXrtXclbin, "FILE", "the accelerator: an .xclbin with fettle's core as a kernel",
       set_xclbin},
      {kXrtDevice, "N|ADDRESS", "which device, as XRT counts, or its PCI address (default: 0)",
       set_device},
      {kXrtLibrary, "NAMES",
       "the library, the first that loads (default: libxrt_coreutil.so.2, then "
       "/opt/xilinx/xrt/lib's)",
       set_library},
  };
  return options;
}

}  // namespace fettle::agent
