// A port of the loopback for a server that a test starts.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fettle::testing {

// One that nobody had a moment ago.
inline int free_port() {
  const int at = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  (void)::bind(at, reinterpret_cast<sockaddr*>(&address), size);
  (void)::getsockname(at, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(at);
  return ntohs(address.sin_port);
}

}  // namespace fettle::testing
