// RunningProgram (running_program.h).
#include "tests/support/running_program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fettle::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{10};

}  // namespace

RunningProgram::RunningProgram(const std::vector<std::string>& argv,
                               const std::map<std::string, std::string>& environment) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) std::abort();
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execvp(words[0], words.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  readers_.emplace_back([this, fd = out[0]] { read_all(fd, out_); });
  readers_.emplace_back([this, fd = err[0]] { read_all(fd, err_); });
}

RunningProgram::~RunningProgram() {
  if (status_ < 0) {
    ::kill(-pid_, SIGKILL);  // what it started, as an emulator, too
    ::kill(pid_, SIGKILL);
    wait(std::chrono::seconds(10));
  }
  for (std::thread& reader : readers_) reader.join();
}

void RunningProgram::read_all(int fd, std::string& into) {
  char text[4096];
  for (ssize_t n; (n = read(fd, text, sizeof text)) > 0;) {
    std::lock_guard lock(mutex_);
    into.append(text, static_cast<std::size_t>(n));
  }
  close(fd);
}

int RunningProgram::wait(std::chrono::seconds limit) {
  const auto deadline = Clock::now() + limit;
  while (status_ < 0) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (Clock::now() > deadline) {
      return -1;
    } else {
      std::this_thread::sleep_for(kLook);
    }
  }
  return status_;
}

void RunningProgram::signal(int number) const {
  if (status_ < 0) ::kill(pid_, number);
}

std::string RunningProgram::out() const {
  std::lock_guard lock(mutex_);
  return out_;
}

std::string RunningProgram::err() const {
  std::lock_guard lock(mutex_);
  return err_;
}

bool RunningProgram::wait_for_out(const std::string& text, std::chrono::seconds limit,
                                  int times) const {
  const auto deadline = Clock::now() + limit;
  while (Clock::now() < deadline) {
    const std::string seen = out();
    int found = 0;
    for (std::size_t at = 0; (at = seen.find(text, at)) != std::string::npos; at += text.size())
      ++found;
    if (found >= times) return true;
    std::this_thread::sleep_for(kLook);
  }
  return false;
}

ProgramResult run_program(const std::vector<std::string>& argv, std::chrono::seconds limit,
                          const std::map<std::string, std::string>& environment) {
  ProgramResult result{};
  {
    RunningProgram program(argv, environment);
    result.status = program.wait(limit);
    if (result.status < 0) program.signal(SIGKILL);
    program.wait(std::chrono::seconds(10));
    std::this_thread::sleep_for(kLook * 5);  // the readers' last bytes
    result.out = program.out();
    result.err = program.err();
  }
  return result;
}

std::vector<pid_t> descendants(pid_t root, const std::string& text) {
  std::multimap<pid_t, pid_t> children;
  std::map<pid_t, std::string> commands;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string line;
    std::getline(stat, line);
    const std::size_t end = line.rfind(')');
    if (end == std::string::npos) continue;
    pid_t parent = 0;
    char state = 0;
    std::istringstream(line.substr(end + 1)) >> state >> parent;
    children.emplace(parent, pid);
    std::ifstream command(entry.path() / "cmdline");
    std::stringstream words;
    words << command.rdbuf();
    commands[pid] = words.str();
  }
  std::vector<pid_t> found, open{root};
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    const auto [first, last] = children.equal_range(pid);
    for (auto it = first; it != last; ++it) {
      open.push_back(it->second);
      if (commands[it->second].find(text) != std::string::npos) found.push_back(it->second);
    }
  }
  return found;
}

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "fettle-test-XXXXXX").string();
  if (!mkdtemp(name.data())) std::abort();
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace fettle::testing
