// A peer in a process of its own that is asked by lines on its standard input and answers each by
// one on its standard output.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "host/process/run_program.h"

namespace fettle::bench {

class AskedProcess {
 public:
  // name: in Errors. cores: it runs on them, with all of its threads; empty: on any.
  static Result<std::unique_ptr<AskedProcess>> start(const std::string& name,
                                                     const std::vector<std::string>& argv,
                                                     const std::vector<int>& cores);
  ~AskedProcess();  // ends it
  AskedProcess(const AskedProcess&) = delete;
  AskedProcess& operator=(const AskedProcess&) = delete;

  // One line and its answer, both without the line's end. Crash: the process has ended, with the
  // last line that it wrote on its standard error. Timeout: it gives no answer for so long.
  Result<std::string> ask(const std::string& line,
                          std::chrono::minutes limit = std::chrono::minutes(5));
  // What it says unasked, at first. Unsupported: it ended instead, which is told as "runs no …".
  Result<std::string> greeting(const std::string& otherwise);

  pid_t pid() const { return pid_; }
  // How often others took a core from one of its threads, so far.
  long interruptions() const;
  std::string file(const std::string& name) const { return folder_.file(name); }  // of its own

 private:
  AskedProcess() = default;
  Result<std::string> answer(ErrorCode code, const std::string& ended, std::chrono::minutes limit);
  std::string last_words() const;

  process::ScratchFolder folder_;
  std::string name_, unread_;
  int socket_ = -1;
  pid_t pid_ = -1;
};

}  // namespace fettle::bench
