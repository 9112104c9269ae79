// The command that an engine runs: a build worker of one broker.
#pragma once

#include <string>
#include <vector>

namespace fettle::farm {

struct WorkerCommand {
  std::string fettle = "fettle";  // the program, where the worker runs
  std::string broker, broker_key;
  std::string key = "builder";
  unsigned builders = 1;  // compilers
};

std::vector<std::string> words_of(const WorkerCommand& command);

// As one line for a POSIX shell, which replaces itself by it.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace fettle::farm
