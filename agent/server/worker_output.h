// What workers say on their standard output and error, in the agent's log: bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace fettle::agent {

class WorkerOutputLog {
 public:
  using Line = std::function<void(const std::string&)>;
  // fd: not blocking, kept by the caller; -1: there is nothing to read. bytes_per_second: of whole
  // lines that are told; of more than that the number alone.
  WorkerOutputLog(int fd, Line line, std::uint64_t bytes_per_second = 4096)
      : fd_(fd), line_(std::move(line)), most_(bytes_per_second) {}

  int fd() const { return fd_; }
  // What there is now; `now` in nanoseconds. Characters that are none of a text become '?'.
  void read(std::uint64_t now);

 private:
  void tell(const std::string& text);

  int fd_;
  Line line_;
  std::uint64_t most_, told_ = 0, dropped_ = 0, second_began_ = 0;
  std::string part_;  // of a line
};

}  // namespace fettle::agent
