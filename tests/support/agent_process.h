// A real fettle-agent as a child process.
#pragma once

#include <sys/types.h>
#include <string>
#include <vector>

namespace fettle::test {

class AgentProcess {
 public:
  // Starts `program` (with its emulator before it, if any) and hands it the key
  // pair over a pipe. `arguments`: beside --key-fd. Its log goes to a file.
  AgentProcess(std::vector<std::string> program, std::vector<std::string> arguments,
               const std::string& public_key, const std::string& secret_key);
  ~AgentProcess();  // SIGKILL unless it has ended
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  pid_t pid() const { return pid_; }
  void send_signal(int number) const;
  // The exit status, -signal when it was killed, or -1000 when it still runs then.
  int wait(int milliseconds);
  std::string log() const;

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
  std::string log_path_;
};

}  // namespace fettle::test
