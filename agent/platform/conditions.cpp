// Conditions from cpufreq, thermal zones, /proc/stat and getrusage (conditions.h).
#include "agent/platform/conditions.h"

#include <sys/resource.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>

#include "agent/platform/board_sysfs.h"
#include "agent/platform/cooling.h"

namespace fettle::agent {
namespace {

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

ConditionsReader::ConditionsReader(const SystemRoot& root, std::vector<std::uint32_t> cores,
                                   std::function<DriverReading()> driver)
    : cores_(std::move(cores)), driver_(std::move(driver)) {
  const std::string cpus = "/sys/devices/system/cpu/cpu";
  const std::string first = cpus + std::to_string(cores_.empty() ? 0 : cores_.front());
  governor_ = root.open(first + "/cpufreq/scaling_governor");
  stat_ = root.open("/proc/stat");
  load_ = root.open("/proc/loadavg");
  const SysfsNames names = sysfs_names(root, board_profiles());
  if (const std::string gpu = gpu_devfreq(root, names); !gpu.empty()) {
    gpu_frequency_ = root.open("/sys/class/devfreq/" + gpu + "/cur_freq");
  }
  logic_clock_ = open_first(root, names.logic_clock);
  power_mode_ = open_first(root, names.power_mode);
  throttle_counters_ = open_all(root, names.throttle_counters);
  cooling_states_ = cpu_cooling_states(root, cores_);
  for (const std::string& name : root.list("/sys/class/thermal")) {
    const std::string at = "/sys/class/thermal/" + name;
    const std::string type = root.text(at + "/type").value_or("");
    if (name.starts_with("thermal_zone") && thermal_zones_.size() < 8 &&
        !contains(names.no_temperature, type)) {
      OpenText temperature = root.open(at + "/temp");
      if (temperature) thermal_zones_.push_back(std::move(temperature));
    }
    // What a profile names beside cpufreq's cooling devices.
    if (!name.starts_with("cooling_device") || cooling_states_.size() >= 24) continue;
    if (contains(names.throttle_alerts, type)) {
      if (OpenText state = root.open(at + "/cur_state"))
        cooling_states_.push_back(std::move(state));
    }
  }
  std::vector<std::string> domains;
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    const std::uint32_t core = cores_[i];
    const std::string cpu = cpus + std::to_string(core);
    OpenText counter = root.open(cpu + "/thermal_throttle/core_throttle_count");
    if (counter && throttle_counters_.size() < 16) throttle_counters_.push_back(std::move(counter));
    // Cores of one domain share a clock: one file for all of them.
    const std::string domain =
        root.text(cpu + "/cpufreq/related_cpus").value_or(std::to_string(core));
    OpenText frequency = root.open(cpu + "/cpufreq/scaling_cur_freq");
    if (!frequency || frequencies_.size() >= 16) continue;
    if (std::find(domains.begin(), domains.end(), domain) != domains.end()) continue;
    domains.push_back(domain);
    frequencies_.push_back({i, std::move(frequency)});
  }
}

bool ConditionsReader::throttled() const {
  return any_active(cooling_states_) || (driver_ && driver_().throttled);
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

std::int32_t ConditionsReader::temperature() const {
  std::int64_t hottest = 0;
  for (const OpenText& zone : thermal_zones_) {
    const std::int64_t value = zone.number().value_or(0);
    if (value < 200'000) hottest = std::max(hottest, value);
  }
  return static_cast<std::int32_t>(hottest);
}

QuickReading ConditionsReader::quick(std::uint32_t threads) const {
  QuickReading now;
  now.gpu_khz = static_cast<std::uint32_t>(gpu_frequency_.number().value_or(0) / 1000);
  now.accelerator_khz = static_cast<std::uint32_t>(logic_clock_.number().value_or(0) / 1000);
  now.temperature_millidegrees = temperature();
  now.settings = now.accelerator_khz;
  for (const OpenText* setting : {&governor_, &power_mode_}) {
    char text[64];
    const std::size_t bytes = setting->read(text, sizeof text);
    now.settings = now.settings * 31 + std::hash<std::string_view>()({text, bytes});
  }
  for (const Frequency& frequency : frequencies_) {
    if (frequency.first_core >= threads) continue;
    const auto khz = static_cast<std::uint32_t>(frequency.file.number().value_or(0));
    if (khz > 0 && (now.cpu_khz == 0 || khz < now.cpu_khz)) now.cpu_khz = khz;
  }
  now.throttled = any_active(cooling_states_);
  if (driver_) {
    const DriverReading told = driver_();
    if (told.gpu_khz > 0) now.gpu_khz = told.gpu_khz;
    if (told.temperature_millidegrees > 0) {
      now.temperature_millidegrees = told.temperature_millidegrees;
    }
    now.throttled = now.throttled || told.throttled;
  }
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
  out.gpu_khz = now.gpu_khz;
  out.accelerator_khz = now.accelerator_khz;
  out.temperature_millidegrees = now.temperature_millidegrees;
  out.throttle_events = now.throttle_events;
  out.throttled = now.throttled;
  out.involuntary_switches = now.involuntary_switches;
  out.steal_ticks = now.steal_ticks;
  char text[64];
  auto line = [&text](const OpenText& file, std::string& to) {
    if (file.read(text, sizeof text) == 0) return;
    to = text;
    while (!to.empty() && (to.back() == '\n' || to.back() == ' ')) to.pop_back();
  };
  line(governor_, out.governor);
  line(power_mode_, out.power_mode);
  if (load_.read(text, sizeof text) > 0) out.load_average = std::strtod(text, nullptr);
  return out;
}

}  // namespace fettle::agent
