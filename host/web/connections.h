// Connections that others made to a listening socket of this process.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <map>
#include <set>
#include <string>

namespace fettle::web {

// "ADDRESS PORT" of the other end, both as numbers.
using PeerName = std::string;

// An end of a connection on this machine.
struct LocalEnd {
  int family = 0;       // AF_INET, AF_INET6; 0: it is no socket of TCP
  std::string address;  // in network order
  int port = 0;
};

// Used by one thread at a time.
class Connections {
 public:
  // Those to the address where `listener` listens, which may be closed later.
  explicit Connections(int listener);
  // Shuts down those that were there so long, counted from the first call that saw them; whoever
  // reads or writes there sees their end. Not those of peers that are `spared`.
  void end_older_than(std::chrono::milliseconds age, const std::set<PeerName>& spared = {});

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  bool is_here(int socket) const;

  LocalEnd here_;
  std::map<ino_t, TimePoint> since_;  // by the socket's number
};

}  // namespace fettle::web
