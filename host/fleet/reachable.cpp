// One TCP connection, without waiting long (reachable.h).
#include "host/fleet/reachable.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace fettle::fleet {
namespace {

constexpr int kPatienceMs = 1000;

// 0: connected, or not known.
int dial(const addrinfo& place) {
  const int fd = ::socket(place.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  int error = ::connect(fd, place.ai_addr, place.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd item{fd, POLLOUT, 0};
    socklen_t size = sizeof error;
    error = 0;
    if (::poll(&item, 1, kPatienceMs) == 1) ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  ::close(fd);
  return error;
}

}  // namespace

std::string why_unreachable(const std::string& url) {
  constexpr std::size_t kScheme = 6;  // tcp://
  const std::size_t colon = url.rfind(':');
  if (!url.starts_with("tcp://") || colon == std::string::npos || colon < kScheme) return "";
  std::string host = url.substr(kScheme, colon - kScheme);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* places = nullptr;
  const int looked_up = ::getaddrinfo(host.c_str(), url.c_str() + colon + 1, &wanted, &places);
  if (looked_up == EAI_AGAIN) return "";  // no answer of any name server yet
  if (looked_up != 0) return "no address of " + host + ": " + ::gai_strerror(looked_up);
  int error = 0;
  for (const addrinfo* place = places; place != nullptr; place = place->ai_next) {
    error = dial(*place);
    if (error == 0) break;
  }
  ::freeaddrinfo(places);
  if (error == ECONNREFUSED) return "connection refused, nothing listens there";
  return error == EHOSTUNREACH || error == ENETUNREACH ? std::strerror(error) : "";
}

}  // namespace fettle::fleet
