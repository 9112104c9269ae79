// A program that a test runs: started, read, signalled, waited for. Its children
// die with it when the test ends.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace fettle::testing {

class RunningProgram {
 public:
  RunningProgram(const std::vector<std::string>& argv,
                 const std::map<std::string, std::string>& environment = {});
  ~RunningProgram();  // SIGKILL if it runs still
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  // Exit status, 128 + signal, or -1 when it still runs after `limit`.
  int wait(std::chrono::seconds limit);
  void signal(int number) const;
  pid_t pid() const { return pid_; }
  std::string out() const;  // of standard output, so far
  std::string err() const;
  // Until standard output holds `text` (as often as `times`); false after `limit`.
  bool wait_for_out(const std::string& text, std::chrono::seconds limit, int times = 1) const;

 private:
  void read_all(int fd, std::string& into);

  pid_t pid_ = -1;
  int status_ = -1;
  mutable std::mutex mutex_;
  std::string out_, err_;
  std::vector<std::thread> readers_;
};

struct ProgramResult {
  int status;
  std::string out, err;
};
// Runs to its end.
ProgramResult run_program(const std::vector<std::string>& argv,
                          std::chrono::seconds limit = std::chrono::seconds(60),
                          const std::map<std::string, std::string>& environment = {});

// Pids below `root` (children, their children, …) whose command line holds `text`.
std::vector<pid_t> descendants(pid_t root, const std::string& text);

// A fresh folder that is removed with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace fettle::testing
