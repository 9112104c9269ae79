// Names of a profile against the files that are there (board_sysfs.h).
#include "agent/platform/board_sysfs.h"

#include <algorithm>
#include <utility>

namespace fettle::agent {
namespace {

void add(std::vector<std::string>& to, const std::vector<std::string>& more) {
  for (const std::string& one : more) {
    if (std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
  }
}

// "/sys/class/hwmon/*/oc1_event_cnt": one path for every entry of /sys/class/hwmon.
std::vector<std::string> expanded(const SystemRoot& root, const std::string& path) {
  const std::size_t star = path.find("/*/");
  if (star == std::string::npos) return {path};
  std::vector<std::string> paths;
  for (const std::string& name : root.list(path.substr(0, star))) {
    paths.push_back(path.substr(0, star + 1) + name + path.substr(star + 2));
  }
  return paths;
}

}  // namespace

SysfsNames sysfs_names(const SystemRoot& root, const std::vector<BoardProfile>& profiles) {
  std::vector<const BoardProfile*> fitting = fitting_profiles(root, profiles);
  if (fitting.empty()) {
    for (const BoardProfile& profile : profiles) fitting.push_back(&profile);
  }
  SysfsNames names;
  for (const BoardProfile* profile : fitting) {
    const SysfsNames& more = profile->sysfs;
    add(names.gpu_devfreq, more.gpu_devfreq);
    add(names.throttle_alerts, more.throttle_alerts);
    add(names.throttle_counters, more.throttle_counters);
    add(names.power_mode, more.power_mode);
    add(names.logic_clock, more.logic_clock);
    add(names.no_temperature, more.no_temperature);
  }
  return names;
}

std::string gpu_devfreq(const SystemRoot& root) {
  return gpu_devfreq(root, sysfs_names(root, board_profiles()));
}

std::string gpu_devfreq(const SystemRoot& root, const SysfsNames& names) {
  const std::string base = "/sys/class/devfreq";
  const std::vector<std::string> entries = root.list(base);
  for (const std::string& wanted : names.gpu_devfreq) {
    for (const std::string& entry : entries) {
      if (entry == wanted || entry.ends_with("." + wanted) ||
          root.text(base + "/" + entry + "/device/of_node/name") == wanted) {
        return entry;
      }
    }
  }
  return "";
}

OpenText open_first(const SystemRoot& root, const std::vector<std::string>& paths) {
  std::vector<OpenText> all = open_all(root, paths);
  return all.empty() ? OpenText() : std::move(all.front());
}

std::vector<OpenText> open_all(const SystemRoot& root, const std::vector<std::string>& paths) {
  std::vector<OpenText> files;
  for (const std::string& pattern : paths) {
    for (const std::string& path : expanded(root, pattern)) {
      if (OpenText file = root.open(path)) files.push_back(std::move(file));
    }
  }
  return files;
}

}  // namespace fettle::agent
