// Which files a worker reaches and which of them it changes, whatever it runs.
#pragma once

#include <string>
#include <vector>

namespace fettle::agent {

struct FileAccess {
  // Files or folders that it does not reach, by absolute paths: keys. Those that do not exist are
  // not made; made by others later, they are not reached either, with Landlock. Without it they
  // are, until this process ends.
  std::vector<std::string> hidden;
  std::string own_folder;  // where it may make and change files (own_folder.h); "": nowhere
};

// Holds the calling process and what it starts to it, for good; call it while there is one thread.
// Files are there to be read, but for those of own_folder and what /proc has of the process itself,
// where CUDA names its threads. Devices can be written, but for disks, memory and what has the
// machine's control. By Landlock (Linux 5.13), which also keeps debugging and, later on, TCP (6.7)
// and signals (6.12) from leaving the process; else by a mount namespace of its own. "" or why it
// does not hold. What Landlock does not know, as modes of files and, before 6.2, their lengths, is
// the driver filter's (seccomp.h).
std::string confine_files(const FileAccess& access);

}  // namespace fettle::agent
