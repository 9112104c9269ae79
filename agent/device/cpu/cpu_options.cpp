// The options that a CPU device knows.
#include "agent/device/cpu/cpu_device.h"
#include "agent/device/device_cores.h"

namespace fettle::agent {
namespace {

Result<void> set_threads(DeviceConfig& device, const std::string& value) {
  std::uint64_t threads;
  if (!parse_number(value, 1024, threads) || threads == 0) {
    return wrong_option("threads", "takes a number from 1 to 1024, not '" + value + "'");
  }
  device.threads = static_cast<std::uint32_t>(threads);
  return {};
}

Result<void> set_cpu(DeviceConfig& device, const std::string& value) {
  device.cpu = value;
  return {};
}

Result<void> set_clock(DeviceConfig& device, const std::string& value) {
  const bool instructions = value == "instructions";
  if (!instructions && value != "nanoseconds") {
    return wrong_option("clock", "takes nanoseconds or instructions, not '" + value + "'");
  }
  device.clock = instructions ? wire::ClockDomain::Instructions : wire::ClockDomain::Nanoseconds;
  return {};
}

}  // namespace

std::span<const DeviceOption> cpu_options() {
  static constexpr DeviceOption options[] = {
      {kDeviceCores, "LIST",
       "cores of the device, such as 1,2 or 4-5 (default: all; where clusters differ, the key's)",
       set_device_cores},
      {"threads", "N", "most threads of a candidate (default: one per core)", set_threads},
      {"cpu", "NAME", "LLVM's name of the core, when the system does not say it", set_cpu},
      {"clock", "DOMAIN", "nanoseconds (default), or instructions: under QEMU's icount", set_clock},
  };
  return options;
}

}  // namespace fettle::agent
