// Lines to where a write may block or fail: a pipe that nobody reads, a full disk. Who says them
// never waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace fettle::fleet {

class LineWriter {
 public:
  // `descriptor` is closed at the end, unless it is one of the three standard ones. `lost` makes
  // the line that tells of so many lost ones, for when writing works again.
  LineWriter(int descriptor, std::function<std::string(std::uint64_t)> lost);
  // What waits gets a second more.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // From any thread. `line` ends in "\n". What cannot be written, or does not fit behind a mebibyte
  // that waits, is lost and counted; one that was written in part has its end on a line of its own.
  void write(std::string line);
  // What was said before goes to the descriptor of before, as far as a second suffices.
  void move_to(int descriptor);
  std::uint64_t lost() const;
  std::size_t waiting() const;  // bytes

 private:
  struct Shared;  // with the thread, which may stand in a write for ever
  std::shared_ptr<Shared> shared_;
};

}  // namespace fettle::fleet
