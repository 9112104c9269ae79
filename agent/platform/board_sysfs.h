// The board's own files of /sys and /var, by the names in its target profile: the GPU's
// clock, alerts of throttling, the power mode, the clock of programmable logic.
#pragma once

#include <string>
#include <vector>

#include "agent/platform/board_profile.h"
#include "agent/platform/system_root.h"

namespace fettle::agent {

// Of the profiles that fit the device tree, together. Where none fits (a board known by
// its --key only), those of all profiles: a file that is not there is not read.
SysfsNames sysfs_names(const SystemRoot& root, const std::vector<BoardProfile>& profiles);

// The GPU's entry of /sys/class/devfreq, "" without one: "ff9a0000.gpu" on an RK3399,
// "17000000.gv11b" on a Jetson Xavier.
std::string gpu_devfreq(const SystemRoot& root);
std::string gpu_devfreq(const SystemRoot& root, const SysfsNames& names);

// The first of these paths that can be read; not open when none can.
OpenText open_first(const SystemRoot& root, const std::vector<std::string>& paths);
// All of them that can be read.
std::vector<OpenText> open_all(const SystemRoot& root, const std::vector<std::string>& paths);

}  // namespace fettle::agent
