// NVML by its C interface (nvml.h; names and values: NVIDIA's NVML API reference).
#include "agent/device/cuda/nvml.h"

#include <dlfcn.h>

#include "runtime/symbol.h"

namespace fettle::agent {
namespace {

constexpr int kClockOfMultiprocessors = 1;  // NVML_CLOCK_SM, MHz
constexpr int kTemperatureOfGpu = 0;        // NVML_TEMPERATURE_GPU, degrees
// nvmlClocksThrottleReasonHwSlowdown, SwThermalSlowdown, HwThermalSlowdown: heat. A power cap is
// how such a card always runs.
constexpr unsigned long long kHeat = 0x08 | 0x20 | 0x40;

}  // namespace

std::unique_ptr<Nvml> Nvml::open(const std::string& library, const std::string& pci_bus_id) {
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded) return nullptr;
  std::unique_ptr<Nvml> out(new Nvml);
  int (*init)() = nullptr;
  int (*by_bus)(const char*, Handle*) = nullptr;
  const bool whole = runtime::find_symbol(loaded, "nvmlInit_v2", init) &&
                     runtime::find_symbol(loaded, "nvmlDeviceGetHandleByPciBusId_v2", by_bus) &&
                     runtime::find_symbol(loaded, "nvmlDeviceGetClockInfo", out->clock_) &&
                     runtime::find_symbol(loaded, "nvmlDeviceGetTemperature", out->temperature_) &&
                     runtime::find_symbol(loaded, "nvmlDeviceGetCurrentClocksThrottleReasons",
                                          out->throttle_reasons_);
  // It stays loaded: its threads, if it has any, cannot be asked to go.
  if (!whole || init() != 0 || by_bus(pci_bus_id.c_str(), &out->gpu_) != 0) return nullptr;
  return out;
}

DriverReading Nvml::read() const {
  DriverReading out;
  unsigned value = 0;
  if (clock_(gpu_, kClockOfMultiprocessors, &value) == 0) out.gpu_khz = value * 1000;
  if (temperature_(gpu_, kTemperatureOfGpu, &value) == 0) {
    out.temperature_millidegrees = static_cast<std::int32_t>(value * 1000);
  }
  unsigned long long reasons = 0;
  if (throttle_reasons_(gpu_, &reasons) == 0) out.throttled = (reasons & kHeat) != 0;
  return out;
}

}  // namespace fettle::agent
