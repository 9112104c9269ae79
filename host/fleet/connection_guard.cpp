// libzmq's monitor tells of connections by their descriptors; ending one is shutdown(2) on it,
// which libzmq sees as its peer's doing (connection_guard.h).
#include "host/fleet/connection_guard.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <cstring>

namespace fettle::fleet {
namespace {

constexpr const char* kMonitor = "inproc://fettle.connections";
// What CURVE's server sends before READY, which is for those it has authenticated: its greeting,
// WELCOME, perhaps ERROR (ZMTP 3.1, RFC 26).
constexpr std::uint64_t kBeforeReady = 64 + 170 + 30;
// Greeting, HELLO and INITIATE with its properties are below 1 KiB.
constexpr std::uint64_t kHandshakeBytes = 4096;

struct OtherEnd {
  std::string address;  // "192.168.1.7"; "" for what is no connection of the Internet's
  std::string whole;    // with its port
};

OtherEnd other_end(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) return {};
  char text[INET6_ADDRSTRLEN] = {};
  in_port_t port = 0;
  if (name.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(name);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    port = v4.sin_port;
  } else if (name.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(name);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    port = v6.sin6_port;
  } else {
    return {};
  }
  return {text, text + (" " + std::to_string(ntohs(port)))};
}

}  // namespace

ConnectionGuard::ConnectionGuard(zmq::context_t& context, zmq::socket_t& socket,
                                 ConnectionLimits limits)
    : socket_(socket), events_(context, zmq::socket_type::pair), open_(limits) {
  // Without a bound: the one who tells is libzmq's own thread, which would wait.
  events_.set(zmq::sockopt::rcvhwm, 0);
  const int wanted = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED;
  if (zmq_socket_monitor(socket_.handle(), kMonitor, wanted) != 0) throw zmq::error_t();
  events_.connect(kMonitor);
}

ConnectionGuard::~ConnectionGuard() { zmq_socket_monitor(socket_.handle(), nullptr, 0); }

void ConnectionGuard::cut(int fd) {
  const auto known = ends_.find(fd);
  if (known == ends_.end()) return;
  // The descriptor may be another's by now: only where it still leads there.
  if (other_end(fd).whole == known->second) shutdown(fd, SHUT_RDWR);
  ends_.erase(known);
  ++cut_off_;
}

void ConnectionGuard::read() {
  zmq::message_t event, endpoint;
  while (events_.recv(event, zmq::recv_flags::dontwait)) {
    if (event.more()) (void)!events_.recv(endpoint, zmq::recv_flags::none);
    std::uint16_t kind = 0;
    std::uint32_t fd = 0;
    if (event.size() < sizeof kind + sizeof fd) continue;
    std::memcpy(&kind, event.data(), sizeof kind);
    std::memcpy(&fd, static_cast<const char*>(event.data()) + sizeof kind, sizeof fd);
    if (kind != ZMQ_EVENT_ACCEPTED) {
      open_.gone(static_cast<int>(fd));
      ends_.erase(static_cast<int>(fd));
      continue;
    }
    OtherEnd end = other_end(static_cast<int>(fd));
    if (end.whole.empty()) continue;  // gone already, or of this machine's own kind
    ends_[static_cast<int>(fd)] = end.whole;
    if (const auto one = open_.accepted(static_cast<int>(fd), end.address)) cut(*one);
  }
  cut_talkers();
}

void ConnectionGuard::cut_talkers() {
  for (const int fd : open_.unproven_ones()) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;
    if (info.tcpi_bytes_acked > kBeforeReady || info.tcpi_bytes_received <= kHandshakeBytes)
      continue;
    cut(fd);
    open_.gone(fd);
  }
}

void ConnectionGuard::proven(zmq::message_t& message, const std::string& key) {
  const int fd = zmq_msg_get(message.handle(), ZMQ_SRCFD);
  if (fd < 0) return;
  if (const auto one = open_.proven(fd, key)) cut(*one);
}

}  // namespace fettle::fleet
