// Profiles against the device tree (board_profile.h).
#include "agent/platform/board_profile.h"

#include <algorithm>

#include "agent/platform/cpu_facts.h"

namespace fettle::agent {

const std::vector<BoardProfile>& board_profiles() {
  static const std::vector<BoardProfile> all = {
#include "agent/board_profiles.inc"
  };
  return all;
}

std::vector<std::string> device_tree_names(const SystemRoot& root) {
  std::vector<std::string> names;
  for (const char* base : {"/proc/device-tree", "/sys/firmware/devicetree/base"}) {
    if (const auto board = root.text(std::string(base) + "/chosen/pynq_board")) {
      names.push_back(board->c_str());
    }
    const std::string compatible = root.text(std::string(base) + "/compatible").value_or("");
    // Strings one after the other, each with its NUL.
    for (std::size_t at = 0; at < compatible.size(); at += names.back().size() + 1) {
      names.emplace_back(compatible.c_str() + at);
    }
    if (!names.empty()) break;
  }
  return names;
}

std::vector<BoardDevice> recognise_board(const SystemRoot& root,
                                         const std::vector<std::uint32_t>& cores,
                                         const std::vector<BoardProfile>& profiles) {
  const std::vector<std::string> names = device_tree_names(root);
  std::vector<const BoardProfile*> fitting;
  for (const BoardProfile& profile : profiles) {
    const bool fits = profile.arch == agent_arch() &&
                      std::find_first_of(profile.device_tree.begin(), profile.device_tree.end(),
                                         names.begin(), names.end()) != profile.device_tree.end();
    if (fits) fitting.push_back(&profile);
  }
  std::vector<BoardDevice> devices;
  for (const BoardProfile* profile : fitting) {
    BoardDevice device{profile->name, profile->key, profile->cpu, {}};
    bool any_known = false;
    for (std::uint32_t core : cores) {
      const std::string name = core_name(root, core);
      any_known = any_known || !name.empty();
      if (name == profile->cpu) device.cores.push_back(core);
    }
    if (fitting.size() == 1 && !any_known) device.cores = cores;
    if (!device.cores.empty()) devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace fettle::agent
