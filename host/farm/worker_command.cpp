// WorkerCommand (worker_command.h).
#include "host/farm/worker_command.h"

namespace fettle::farm {

std::vector<std::string> words_of(const WorkerCommand& command) {
  return {command.fettle, "build-worker",
          "--broker",     command.broker,
          "--broker-key", command.broker_key,
          "--key",        command.key,
          "--builders",   std::to_string(command.builders)};
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line = "exec";
  for (const std::string& word : words) {
    line += " '";
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += "'";
  }
  return line;
}

}  // namespace fettle::farm
