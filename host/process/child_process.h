// A child process that dies with the thread that started it: builders and the
// local agent. Everything a child may inherit is named; all else is closed.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::process {

struct ChildPlan {
  std::vector<std::string> argv;                 // argv[0] is looked up in PATH when it has no '/'
  std::string program;                           // the file, where argv[0] is but a name for people
  std::vector<std::string> environment;          // NAME=VALUE, beside or instead of this process's
  std::vector<std::pair<int, int>> descriptors;  // ours → the child's number (0: stdin, …)
  std::vector<int> cores;                        // may run on; empty: wherever this process may
  std::uint64_t memory_bytes = 0;                // address space limit; 0: none
  std::vector<std::string> hidden;  // variables that begin so are not in its environment
  // What a terminal, `timeout` or `kill` tells the whole group of processes does not reach it then.
  bool own_group = false;
};

// The child's pid. An Error when the program could not be started (its file is
// absent, is no program of this machine, …). SIGKILLed by the kernel when the
// calling *thread* ends: call from one that outlives the child.
Result<pid_t> start_child(const ChildPlan& plan);

// Kills by pid and reaps; returns wait status. A child that had died already
// keeps the status it died with.
int end_child(pid_t pid);

// "exit status 3", "signal SIGSEGV (Segmentation fault)".
std::string describe_wait_status(int status);

// The file this program runs from, as people know it; it may have been removed or replaced.
Result<std::string> own_executable();
// What always is this very program, for open() and exec.
inline constexpr const char* kOwnProgram = "/proc/self/exe";

// The folder of the file that this very code is in: of the program, or of libfettle.so in a program
// of a user. What belongs to fettle lies beside it.
Result<std::string> own_folder();

}  // namespace fettle::process
