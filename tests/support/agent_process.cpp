// Starting and ending agents (agent_process.h).
#include "tests/support/agent_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace fettle::test {

AgentProcess::AgentProcess(std::vector<std::string> program, std::vector<std::string> arguments,
                           const std::string& public_key, const std::string& secret_key) {
  char path[] = "/tmp/fettle-agent-log-XXXXXX";
  const int log = mkstemp(path);
  log_path_ = path;
  int keys[2];
  if (pipe(keys) != 0) std::abort();
  const std::string text = "public " + public_key + "\nsecret " + secret_key + "\n";
  if (write(keys[1], text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
  close(keys[1]);
  program.insert(program.end(), {"--key-fd", std::to_string(keys[0])});
  program.insert(program.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : program) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(log, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(log);
  close(keys[0]);
}

AgentProcess::~AgentProcess() {
  if (!ended_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  unlink(log_path_.c_str());
}

void AgentProcess::send_signal(int number) const { kill(pid_, number); }

int AgentProcess::wait(int milliseconds) {
  for (int waited = 0; !ended_ && waited <= milliseconds; waited += 5) {
    int status;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      ended_ = true;
      status_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
      break;
    }
    usleep(5000);
  }
  return ended_ ? status_ : -1000;
}

std::string AgentProcess::log() const {
  std::ifstream file(log_path_);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace fettle::test
