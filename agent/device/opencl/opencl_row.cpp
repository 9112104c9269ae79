// The supervisor's half of OpenCL devices (opencl_row.h).
#include "agent/device/opencl/opencl_row.h"

#include "agent/device/device_cores.h"
#include "agent/device/gpu_row.h"

namespace fettle::agent {
namespace {

Result<void> set_library(DeviceConfig& device, const std::string& value) {
  if (value.empty()) {
    return wrong_option(kOpenClLibrary, "takes names or paths, with commas between");
  }
  device.settings[kOpenClLibrary] = value;
  return {};
}

Result<void> set_device(DeviceConfig& device, const std::string& value) {
  std::uint64_t ordinal;
  if (!parse_number(value, 255, ordinal)) {
    return wrong_option(kOpenClDevice, "takes a number from 0, not '" + value + "'");
  }
  device.settings[kOpenClDevice] = value;
  return {};
}

}  // namespace

wire::DeviceInfoT describe_opencl(const DeviceConfig& config, const SystemRoot&) {
  DeviceConfig told = config;
  std::string& cores = told.settings[kDeviceCores];
  for (const std::uint32_t core : config.cores) {
    cores += (cores.empty() ? "" : ",") + std::to_string(core);
  }
  if (cores.empty()) told.settings.erase(kDeviceCores);
  return describe_gpu(told, wire::DeviceKind::OpenCl, "OpenCL device");
}

// One thread stores 1.0f.
SelfTestProgram opencl_self_test(const wire::DeviceInfoT&) {
  static constexpr char text[] =
      "__kernel void store_one(__global float* out) { out[0] = 1.0f; }\n";
  return gpu_self_test(wire::ImageKind::OpenClSource, text);
}

std::span<const DeviceOption> opencl_options() {
  static constexpr DeviceOption options[] = {
      {kOpenClDevice, "N", "which device, counted over all platforms (default: the first GPU)",
       set_device},
      {kOpenClLibrary, "NAMES",
       "the library, the first that loads (default: libOpenCL.so.1,libOpenCL.so,libmali.so)",
       set_library},
      {kDeviceCores, "LIST",
       "cores that the driver's threads keep to, such as 1,2 or 4-5 (default: all)",
       set_device_cores},
  };
  return options;
}

}  // namespace fettle::agent
