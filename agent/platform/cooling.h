// The kernel's cooling devices (/sys/class/thermal/cooling_device*): above state 0 one
// holds a clock down against heat.
#pragma once

#include <vector>

#include "agent/platform/system_root.h"

namespace fettle::agent {

// The states of those that cool one of these cores. A type "cpufreq-cpu4" names the clock
// domain of core 4; an older kernel's "thermal-cpufreq-0" names none and counts for all.
std::vector<OpenText> cpu_cooling_states(const SystemRoot& root,
                                         const std::vector<std::uint32_t>& cores);
// Of the GPU `name` of /sys/class/devfreq: "devfreq-NAME", or older "thermal-devfreq-0".
std::vector<OpenText> gpu_cooling_states(const SystemRoot& root, const std::string& name);
bool any_active(const std::vector<OpenText>& states);

// The cores that share this one's clock, itself included (cpufreq's related_cpus), ascending.
std::vector<std::uint32_t> clock_domain_of(const SystemRoot& root, std::uint32_t core);

}  // namespace fettle::agent
