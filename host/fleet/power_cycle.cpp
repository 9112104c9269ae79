// When boards are switched, and how the command runs (power_cycle.h).
#include "host/fleet/power_cycle.h"

#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <utility>
#include <vector>

namespace fettle::fleet {

Result<void> add_power_cycle(PowerCycleOptions& options, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return Error{ErrorCode::InvalidArgument,
                 "--power-cycle takes NAME=COMMAND, NAME as `fettle keys list` shows the board, "
                 "not '" +
                     text + "'"};
  }
  options.commands[text.substr(0, equals)] = text.substr(equals + 1);
  return {};
}

PowerCycle::PowerCycle(PowerCycleOptions options, Run run)
    : options_(std::move(options)), run_(std::move(run)) {}

void PowerCycle::silent(const std::string& board, TimePoint now) {
  if (!options_.commands.contains(board)) return;
  waiting_.emplace(board, Waiting{now + options_.patience, 0});
}

void PowerCycle::seen(const std::string& board) { waiting_.erase(board); }

void PowerCycle::tick(TimePoint now) {
  for (auto& [board, waiting] : waiting_) {
    if (now < waiting.next || waiting.tries == options_.attempts) continue;
    ++waiting.tries;
    waiting.next = now + options_.again;
    run_(board, options_.commands.at(board));
  }
}

bool run_detached(const std::string& board, const std::string& command) {
  // Everything that allocates happens before the fork: the broker has threads.
  const std::string variable = "FETTLE_BOARD=" + board;
  std::string shell = "exec </dev/null; " + command;
  char* const arguments[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), shell.data(),
                             nullptr};
  std::vector<char*> environment;
  for (char** entry = environ; *entry; ++entry) environment.push_back(*entry);
  environment.push_back(const_cast<char*>(variable.c_str()));
  environment.push_back(nullptr);
  // Its parent ends at once, so that init reaps it whenever it ends.
  const pid_t between = fork();
  if (between == 0) {
    if (fork() == 0) {
      setsid();
      execve("/bin/sh", arguments, environment.data());
      _exit(127);
    }
    _exit(0);
  }
  if (between < 0) return false;
  while (waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  return true;
}

}  // namespace fettle::fleet
