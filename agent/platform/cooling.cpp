// Cooling devices by their types (cooling.h).
#include "agent/platform/cooling.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <sstream>

namespace fettle::agent {
namespace {

constexpr std::size_t kMostStates = 16;

std::vector<OpenText> states_of(const SystemRoot& root,
                                const std::function<bool(const std::string& type)>& wanted) {
  std::vector<OpenText> states;
  for (const std::string& name : root.list("/sys/class/thermal")) {
    if (!name.starts_with("cooling_device") || states.size() >= kMostStates) continue;
    const std::string at = "/sys/class/thermal/" + name;
    if (!wanted(root.text(at + "/type").value_or(""))) continue;
    if (OpenText state = root.open(at + "/cur_state")) states.push_back(std::move(state));
  }
  return states;
}

}  // namespace

std::vector<OpenText> cpu_cooling_states(const SystemRoot& root,
                                         const std::vector<std::uint32_t>& cores) {
  const std::string named = "cpufreq-cpu";
  std::vector<std::uint32_t> cooled;  // every core whose clock is one of ours
  for (std::uint32_t core : cores) {
    const auto domain = clock_domain_of(root, core);
    cooled.insert(cooled.end(), domain.begin(), domain.end());
  }
  return states_of(root, [&](const std::string& type) {
    if (!type.starts_with(named)) return type.find("cpufreq") != std::string::npos;
    const auto core =
        static_cast<std::uint32_t>(std::strtoul(type.c_str() + named.size(), nullptr, 10));
    return std::find(cooled.begin(), cooled.end(), core) != cooled.end();
  });
}

std::vector<OpenText> gpu_cooling_states(const SystemRoot& root, const std::string& name) {
  return states_of(root, [&](const std::string& type) {
    return type == "devfreq-" + name || type.starts_with("thermal-devfreq");
  });
}

bool any_active(const std::vector<OpenText>& states) {
  return std::any_of(states.begin(), states.end(),
                     [](const OpenText& state) { return state.number().value_or(0) > 0; });
}

std::vector<std::uint32_t> clock_domain_of(const SystemRoot& root, std::uint32_t core) {
  std::istringstream related(
      root.text("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/related_cpus")
          .value_or(""));
  std::vector<std::uint32_t> cores;
  for (std::uint32_t other; related >> other;) cores.push_back(other);
  if (std::find(cores.begin(), cores.end(), core) == cores.end()) cores.push_back(core);
  std::sort(cores.begin(), cores.end());
  return cores;
}

}  // namespace fettle::agent
