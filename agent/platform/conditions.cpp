// Conditions from cpufreq, thermal zones, /proc/stat and getrusage (conditions.h).
#include "agent/platform/conditions.h"

#include <sys/resource.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fettle::agent {

ConditionsReader::ConditionsReader(const SystemRoot& root, std::vector<std::uint32_t> cores)
    : cores_(std::move(cores)) {
  const std::string cpus = "/sys/devices/system/cpu/cpu";
  const std::string first = cpus + std::to_string(cores_.empty() ? 0 : cores_.front());
  frequency_ = root.open(first + "/cpufreq/scaling_cur_freq");
  governor_ = root.open(first + "/cpufreq/scaling_governor");
  stat_ = root.open("/proc/stat");
  load_ = root.open("/proc/loadavg");
  for (const std::string& zone : root.list("/sys/class/thermal")) {
    if (zone.rfind("thermal_zone", 0) != 0 || thermal_zones_.size() >= 8) continue;
    OpenText temperature = root.open("/sys/class/thermal/" + zone + "/temp");
    if (temperature) thermal_zones_.push_back(std::move(temperature));
  }
  for (std::uint32_t core : cores_) {
    OpenText counter =
        root.open(cpus + std::to_string(core) + "/thermal_throttle/core_throttle_count");
    if (counter && throttle_counters_.size() < 16) throttle_counters_.push_back(std::move(counter));
  }
}

std::uint64_t ConditionsReader::steal_ticks() const {
  char text[16384];
  if (stat_.read(text, sizeof text) == 0) return 0;
  std::uint64_t total = 0;
  for (const char* line = text; line; line = std::strchr(line, '\n')) {
    if (*line == '\n') ++line;
    if (std::strncmp(line, "cpu", 3) != 0) break;  // the cpu lines come first
    if (line[3] < '0' || line[3] > '9') continue;
    char* at = nullptr;
    const auto core = static_cast<std::uint32_t>(std::strtoul(line + 3, &at, 10));
    if (std::find(cores_.begin(), cores_.end(), core) == cores_.end()) continue;
    // user nice system idle iowait irq softirq steal
    unsigned long long value = 0;
    for (int field = 0; field < 8; ++field) value = std::strtoull(at, &at, 10);
    total += value;
  }
  return total;
}

QuickReading ConditionsReader::quick() const {
  QuickReading now;
  now.cpu_khz = static_cast<std::uint32_t>(frequency_.number().value_or(0));
  now.steal_ticks = steal_ticks();
  for (const OpenText& counter : throttle_counters_) {
    now.throttle_events += static_cast<std::uint64_t>(counter.number().value_or(0));
  }
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    now.involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
  }
  return now;
}

wire::ConditionsT ConditionsReader::read() const {
  wire::ConditionsT out;
  const QuickReading now = quick();
  out.core = cores_.empty() ? -1 : static_cast<std::int32_t>(cores_.front());
  out.cpu_khz = now.cpu_khz;
  out.throttle_events = now.throttle_events;
  out.involuntary_switches = now.involuntary_switches;
  out.steal_ticks = now.steal_ticks;
  char text[64];
  if (governor_.read(text, sizeof text) > 0) {
    out.governor = text;
    while (!out.governor.empty() && out.governor.back() == '\n') out.governor.pop_back();
  }
  for (const OpenText& zone : thermal_zones_) {
    const auto value = zone.number();
    if (value && *value > out.temperature_millidegrees && *value < 200'000) {
      out.temperature_millidegrees = static_cast<std::int32_t>(*value);
    }
  }
  if (load_.read(text, sizeof text) > 0) out.load_average = std::strtod(text, nullptr);
  return out;
}

}  // namespace fettle::agent
