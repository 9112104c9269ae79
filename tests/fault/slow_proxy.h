// A TCP link that carries only so many bytes a second, each way, in order: a board behind
// a narrow radio link, without one.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace fettle::fleet {

class SlowProxy {
 public:
  // `endpoint` is tcp://127.0.0.1:PORT; url() is what to dial instead.
  SlowProxy(const std::string& endpoint, std::size_t bytes_per_second)
      : rate_(bytes_per_second), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    target_ = loopback(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
    sockaddr_in own = loopback(0);
    socklen_t size = sizeof own;
    const int small = 4096;  // little is on its way unseen; inherited by what is accepted
    ::setsockopt(listener_, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&own), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &size), 0);
    url_ = "tcp://127.0.0.1:" + std::to_string(ntohs(own.sin_port));
    accepter_ = std::thread([this] { accept_all(); });
  }
  ~SlowProxy() {
    stopping_ = true;
    accepter_.join();
    for (std::thread& pump : pumps_) pump.join();
    for (int fd : fds_) ::close(fd);
    ::close(listener_);
  }
  const std::string& url() const { return url_; }
  int connections() const { return connections_; }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  bool ready(int fd, short events) const {
    while (!stopping_) {
      pollfd one{fd, events, 0};
      if (::poll(&one, 1, 20) > 0) return true;
    }
    return false;
  }
  void accept_all() {
    while (ready(listener_, POLLIN)) {
      const int from = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      const int to = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (from >= 0) fds_.push_back(from);
      if (to >= 0) fds_.push_back(to);
      if (from < 0 || to < 0 ||
          ::connect(to, reinterpret_cast<const sockaddr*>(&target_), sizeof target_) != 0) {
        if (from >= 0) ::shutdown(from, SHUT_RDWR);
        continue;
      }
      ++connections_;
      pumps_.emplace_back([this, from, to] { pump(from, to); });
      pumps_.emplace_back([this, from, to] { pump(to, from); });
    }
  }
  void pump(int from, int to) const {
    char piece[2048];
    while (ready(from, POLLIN)) {
      const ssize_t got = ::recv(from, piece, sizeof piece, 0);
      if (got <= 0) break;
      std::this_thread::sleep_for(
          std::chrono::microseconds(static_cast<std::size_t>(got) * 1'000'000 / rate_));
      for (ssize_t sent = 0; sent < got;) {
        if (!ready(to, POLLOUT)) return;
        const ssize_t n = ::send(to, piece + sent, static_cast<std::size_t>(got - sent),
                                 MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN) return;
        sent += std::max<ssize_t>(n, 0);
      }
    }
    ::shutdown(to, SHUT_WR);
  }

  const std::size_t rate_;
  const int listener_;
  sockaddr_in target_;
  std::string url_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> connections_{0};
  std::list<std::thread> pumps_;  // the accepter's, until it has ended
  std::list<int> fds_;
  std::thread accepter_;
};

}  // namespace fettle::fleet
