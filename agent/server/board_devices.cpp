// A board's devices (board_devices.h).
#include "agent/server/board_devices.h"

#include <algorithm>

#include "agent/device/registry.h"
#include "agent/platform/cpu_facts.h"

namespace fettle::agent {
namespace {

// A device whose cores are all of that profile gets its name and its other keys; one with a
// key of its own ("lab") keeps to that.
void identify(DeviceConfig& device, const BoardDevice& found,
              const std::vector<std::uint32_t>& usable) {
  const auto& cores = device.cores.empty() ? usable : device.cores;
  const bool within = std::all_of(cores.begin(), cores.end(), [&](std::uint32_t core) {
    return std::find(found.cores.begin(), found.cores.end(), core) != found.cores.end();
  });
  if (!within || device.kind != wire::DeviceKind::Cpu) return;
  device.profile = found.profile;
  if (device.cpu.empty()) device.cpu = found.cpu;
  if (std::find(found.keys.begin(), found.keys.end(), device.key) == found.keys.end()) return;
  for (const std::string& key : found.keys) {
    if (key != device.key) device.aliases.push_back(key);
  }
}

// A device never has two kinds of cores unless it was told to: without cores of its own it
// has the cluster whose key it bears.
Result<void> choose_cluster(DeviceConfig& device, const std::vector<BoardDevice>& clusters) {
  if (clusters.size() < 2 || !device.cores.empty() || device.kind != wire::DeviceKind::Cpu) {
    return {};
  }
  std::string words;
  for (const BoardDevice& cluster : clusters) {
    if (std::find(cluster.keys.begin(), cluster.keys.end(), device.key) != cluster.keys.end()) {
      device.cores = cluster.cores;
      return {};
    }
    words += words.empty() ? "" : "; ";
    for (std::uint32_t core : cluster.cores) words += std::to_string(core) + " ";
    words += "(" + cluster.cpu + ", " + cluster.keys.front() + ")";
  }
  return wrong_option("device-cores", "is needed for key '" + device.key +
                                          "': this board's cores differ: " + words);
}

}  // namespace

Result<void> recognise_devices(AgentOptions& options, const DeviceConfig& defaults,
                               const SystemRoot& root, const std::vector<BoardProfile>& profiles) {
  const bool named = !options.devices.empty();
  const auto cores = named || defaults.cores.empty() ? usable_cores() : defaults.cores;
  std::vector<std::uint32_t>* left_over = named ? nullptr : &options.left_over_cores;
  const std::vector<BoardDevice> board = recognise_board(root, cores, profiles, left_over);
  for (DeviceConfig& device : options.devices) {
    if (auto chosen = choose_cluster(device, board); !chosen) return chosen;
  }
  for (const BoardDevice& found : board) {
    if (!named) {
      DeviceConfig device = defaults;
      device.key = found.keys.front();
      device.index = static_cast<std::uint32_t>(options.devices.size());
      device.cores = found.cores;
      options.devices.push_back(std::move(device));
    }
    for (DeviceConfig& device : options.devices) identify(device, found, cores);
  }
  if (named || board.empty()) return {};
  for (const BoardAccelerator& found : board_accelerators(root, profiles)) {
    const auto rows = device_rows();
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const DeviceRow& each) { return found.kind == each.name; });
    if (row == rows.end()) continue;
    DeviceConfig device = defaults;
    device.kind = row->kind;
    device.key = found.key;
    device.index = static_cast<std::uint32_t>(options.devices.size());
    device.options_of_kind.clear();  // those were given for its cores
    device.settings.clear();
    device.cores.clear();
    device.beside = true;
    options.devices.push_back(std::move(device));
  }
  return {};
}

std::string board_words(const SystemRoot& root) {
  const auto names = device_tree_names(root);
  if (names.empty()) return "there is no device tree here that tells the board";
  return "the device tree calls this board " + names.front() + ", which no profile knows";
}

}  // namespace fettle::agent
