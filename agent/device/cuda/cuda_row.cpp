// The supervisor's half of CUDA devices (cuda_row.h).
#include "agent/device/cuda/cuda_row.h"

#include "agent/device/gpu_row.h"

namespace fettle::agent {
namespace {

Result<void> set_library(DeviceConfig& device, const std::string& value) {
  if (value.empty()) return wrong_option(kCudaLibrary, "takes names or paths, with commas between");
  device.settings[kCudaLibrary] = value;
  return {};
}

Result<void> set_nvml(DeviceConfig& device, const std::string& value) {
  if (value.empty()) return wrong_option(kNvmlLibrary, "takes a name or path");
  device.settings[kNvmlLibrary] = value;
  return {};
}

Result<void> set_ordinal(DeviceConfig& device, const std::string& value) {
  std::uint64_t ordinal;
  if (!parse_number(value, 255, ordinal)) {
    return wrong_option(kCudaDevice, "takes a number from 0, not '" + value + "'");
  }
  device.settings[kCudaDevice] = value;
  return {};
}

}  // namespace

wire::DeviceInfoT describe_cuda(const DeviceConfig& config, const SystemRoot&) {
  return describe_gpu(config, wire::DeviceKind::Cuda, "CUDA GPU");
}

// One thread stores 1.0f. PTX of the oldest version and GPU that any driver in question takes.
SelfTestProgram cuda_self_test(const wire::DeviceInfoT&) {
  static constexpr char text[] = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry store_one(.param .u64 out)
{
  .reg .b64 %a<3>;
  ld.param.u64 %a1, [out];
  cvta.to.global.u64 %a2, %a1;
  st.global.f32 [%a2], 0f3F800000;
  ret;
}
)";
  return gpu_self_test(wire::ImageKind::Ptx, text);
}

std::span<const DeviceOption> cuda_options() {
  static constexpr DeviceOption options[] = {
      {kCudaDevice, "N", "which GPU, as the driver counts (default: 0)", set_ordinal},
      {kCudaLibrary, "NAMES", "the driver's library, the first that loads (default: libcuda.so.1)",
       set_library},
      {kNvmlLibrary, "NAME",
       "the library that tells the GPU's clock and heat (default: libnvidia-ml.so.1)", set_nvml},
  };
  return options;
}

}  // namespace fettle::agent
