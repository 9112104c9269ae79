// NVIDIA's management library, where the driver brings it (desktop and server cards; a Jetson's
// figures are in sysfs): clock, temperature and throttling of one GPU.
#pragma once

#include <memory>
#include <string>

#include "agent/platform/driver_reading.h"

namespace fettle::agent {

class Nvml {
 public:
  // Null: there is no such library, or it does not know the GPU with that PCI bus id
  // ("0000:65:00.0"). Before the sandbox: it opens files.
  static std::unique_ptr<Nvml> open(const std::string& library, const std::string& pci_bus_id);
  DriverReading read() const;

 private:
  using Handle = void*;
  Nvml() = default;
  Handle gpu_ = nullptr;
  // 0 is success.
  int (*clock_)(Handle, int, unsigned*) = nullptr;
  int (*temperature_)(Handle, int, unsigned*) = nullptr;
  int (*throttle_reasons_)(Handle, unsigned long long*) = nullptr;
};

}  // namespace fettle::agent
