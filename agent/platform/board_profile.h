// Recognising the board: which target profiles (toolchains/profiles/*.toml, embedded
// when the agent is built) the device tree fits, and which cores each stands for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/platform/system_root.h"

namespace fettle::agent {

// A profile's table [sysfs]: what the board has beside cpufreq, thermal zones and
// cpufreq's cooling devices. Paths may hold "*" for one name. Used by board_sysfs.h.
struct SysfsNames {
  // The GPU's in /sys/class/devfreq: the entry's name, the part of it behind its address,
  // or the name of its device tree node.
  std::vector<std::string> gpu_devfreq;
  std::vector<std::string> throttle_alerts;    // types of cooling devices
  std::vector<std::string> throttle_counters;  // paths; each counts events
  std::vector<std::string> power_mode;         // paths, the first that is there counts
  std::vector<std::string> logic_clock;        // the same; in Hz
  std::vector<std::string> no_temperature;     // types of thermal zones that measure nothing
};

// One more device of the board, beside its cores.
struct BoardAccelerator {
  std::string kind;  // of a device row: "opencl", "cuda", "vta"; "": none
  std::string key;   // what it is offered under
};

// A profile as far as the agent needs it.
struct BoardProfile {
  std::string name;               // the file's
  std::vector<std::string> keys;  // the device is offered under the first
  std::string cpu;                // LLVM's name of the core
  std::string arch;               // "aarch64"; profiles of another are not this agent's
  // Any of them in the root's `compatible`, or as /chosen/pynq_board.
  std::vector<std::string> device_tree;
  // MIDRs of its cores, for a core that arm_core_name() does not know; variant and
  // revision do not count.
  std::vector<std::uint32_t> midr;
  BoardAccelerator accelerator;
  SysfsNames sysfs;
};

// Of toolchains/profiles, those with a `device_tree`.
const std::vector<BoardProfile>& board_profiles();

// Those of `profiles` that the device tree fits and this agent was built for.
std::vector<const BoardProfile*> fitting_profiles(const SystemRoot& root,
                                                  const std::vector<BoardProfile>& profiles);

// One device of the board at hand.
struct BoardDevice {
  std::string profile, cpu;
  std::vector<std::string> keys;     // the profile's
  std::vector<std::uint32_t> cores;  // those asked for that are its core
};

// The devices of `cores` by the profiles that fit, in their order; empty when none
// does. A profile takes the cores that say they are its core (one cluster of
// big.LITTLE), or all of them where it is the only one that fits and no core says
// what it is. Cores that no device got are told in `left_over`.
std::vector<BoardDevice> recognise_board(const SystemRoot& root,
                                         const std::vector<std::uint32_t>& cores,
                                         const std::vector<BoardProfile>& profiles,
                                         std::vector<std::uint32_t>* left_over = nullptr);

// The accelerators of the profiles that fit, each once.
std::vector<BoardAccelerator> board_accelerators(const SystemRoot& root,
                                                 const std::vector<BoardProfile>& profiles);

// What the device tree calls the board, most specific first; empty without one.
std::vector<std::string> device_tree_names(const SystemRoot& root);

}  // namespace fettle::agent
