// Profiles against the device tree (board_profile.h).
#include "agent/platform/board_profile.h"

#include <algorithm>
#include <iterator>

#include "agent/platform/cpu_facts.h"
#include "schemas/wire/native_arch.h"

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

std::vector<const BoardProfile*> fitting_profiles(const SystemRoot& root,
                                                  const std::vector<BoardProfile>& profiles) {
  const std::vector<std::string> names = device_tree_names(root);
  std::vector<const BoardProfile*> fitting;
  for (const BoardProfile& profile : profiles) {
    const bool fits = profile.arch == native_arch() &&
                      std::find_first_of(profile.device_tree.begin(), profile.device_tree.end(),
                                         names.begin(), names.end()) != profile.device_tree.end();
    if (fits) fitting.push_back(&profile);
  }
  return fitting;
}

std::vector<BoardDevice> recognise_board(const SystemRoot& root,
                                         const std::vector<std::uint32_t>& cores,
                                         const std::vector<BoardProfile>& profiles,
                                         std::vector<std::uint32_t>* left_over) {
  const std::vector<const BoardProfile*> fitting = fitting_profiles(root, profiles);
  std::vector<BoardDevice> devices;
  std::vector<std::uint32_t> taken;
  for (const BoardProfile* profile : fitting) {
    BoardDevice device{profile->name, profile->cpu, profile->keys, {}};
    bool any_known = false;
    for (std::uint32_t core : cores) {
      const std::uint64_t midr = core_midr(root, core);
      const std::string name = arm_core_name(midr);
      const bool is_named = std::any_of(profile->midr.begin(), profile->midr.end(),
                                        [&](std::uint32_t own) { return same_core(own, midr); });
      any_known = any_known || !name.empty() || is_named;
      if (is_named || name == profile->cpu) device.cores.push_back(core);
    }
    if (fitting.size() == 1 && !any_known) device.cores = cores;
    taken.insert(taken.end(), device.cores.begin(), device.cores.end());
    if (!device.cores.empty()) devices.push_back(std::move(device));
  }
  if (left_over && !fitting.empty()) {
    std::copy_if(cores.begin(), cores.end(), std::back_inserter(*left_over),
                 [&](std::uint32_t core) {
                   return std::find(taken.begin(), taken.end(), core) == taken.end();
                 });
  }
  return devices;
}

std::vector<BoardAccelerator> board_accelerators(const SystemRoot& root,
                                                 const std::vector<BoardProfile>& profiles) {
  std::vector<BoardAccelerator> out;
  for (const BoardProfile* profile : fitting_profiles(root, profiles)) {
    const BoardAccelerator& own = profile->accelerator;
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const BoardAccelerator& a) { return a.key == own.key; });
    if (!own.kind.empty() && !known) out.push_back(own);
  }
  return out;
}

}  // namespace fettle::agent
