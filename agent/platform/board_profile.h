// Recognising the board: which target profiles (toolchains/profiles/*.toml, embedded
// when the agent is built) the device tree fits, and which cores each stands for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/platform/system_root.h"

namespace fettle::agent {

// A profile as far as the agent needs it.
struct BoardProfile {
  std::string name;  // the file's
  std::string key;   // the first of its device keys
  std::string cpu;   // LLVM's name of the core
  std::string arch;  // "aarch64"; profiles of another are not this agent's
  // Any of them in the root's `compatible`, or as /chosen/pynq_board.
  std::vector<std::string> device_tree;
};

const std::vector<BoardProfile>& board_profiles();

// One device of the board at hand.
struct BoardDevice {
  std::string profile, key, cpu;
  std::vector<std::uint32_t> cores;
};

// The devices of `cores` by the profiles that fit, in their order; empty when none
// does. A profile takes the cores that say they are its core (one cluster of
// big.LITTLE), or all of them where it is the only one that fits and no core says
// what it is.
std::vector<BoardDevice> recognise_board(const SystemRoot& root,
                                         const std::vector<std::uint32_t>& cores,
                                         const std::vector<BoardProfile>& profiles);

// What the device tree calls the board, most specific first; empty without one.
std::vector<std::string> device_tree_names(const SystemRoot& root);

}  // namespace fettle::agent
