// Holds a listening socket's connections to OpenConnections' limits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <zmq.hpp>

#include "host/fleet/open_connections.h"

namespace fettle::fleet {

// Of the thread that reads the socket.
class ConnectionGuard {
 public:
  // `socket` lies in `context`; both outlive this.
  ConnectionGuard(zmq::context_t& context, zmq::socket_t& socket, ConnectionLimits limits);
  ~ConnectionGuard();
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;

  void* handle() { return events_.handle(); }  // readable: read() has something
  // Also ends those that have sent more than a handshake takes without one; call it every 20 ms
  // while there are unproven ones.
  void read();
  // A message came from it, of the peer with that key.
  void proven(zmq::message_t& message, const std::string& key);

  const OpenConnections& open() const { return open_; }
  std::uint64_t cut_off() const { return cut_off_; }  // connections ended so far

 private:
  void cut(int fd);
  void cut_talkers();

  zmq::socket_t& socket_;
  zmq::socket_t events_;
  OpenConnections open_;
  std::map<int, std::string> ends_;  // of descriptors: address and port of the other side
  std::uint64_t cut_off_ = 0;
};

}  // namespace fettle::fleet
