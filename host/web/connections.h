// Connections that others made to a port of this process.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <map>

namespace fettle::web {

// Used by one thread at a time.
class Connections {
 public:
  explicit Connections(int port) : port_(port) {}
  // Shuts down those that were there so long, counted from the first call that saw them; whoever
  // reads or writes there sees their end.
  void end_older_than(std::chrono::milliseconds age);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  int port_;
  std::map<ino_t, TimePoint> since_;  // by the socket's number
};

}  // namespace fettle::web
