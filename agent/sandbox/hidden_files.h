// Files that a worker must not reach, whatever it runs: keys.
#pragma once

#include <string>
#include <vector>

namespace fettle::agent {

struct HiddenFiles {
  std::vector<std::string> paths;  // files or folders; those that do not exist are none
  // Also disks as such, the machine's memory and the making of device files: for a process that
  // may start programs.
  bool devices = false;
};

// Puts them out of reach of the calling process and what it starts, for good; call it while there
// is one thread. By Landlock (Linux 5.13), which also keeps signals, debugging and, from 6.7 on,
// TCP from leaving the process; else by a mount namespace of its own. "" or why they are in reach.
std::string hide_files(const HiddenFiles& hidden);

}  // namespace fettle::agent
