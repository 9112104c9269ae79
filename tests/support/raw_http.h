// What no client's library would send to a server of this machine.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

namespace fettle::test {

// -1: nobody listens there.
inline int connected_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return socket;
  ::close(socket);
  return -1;
}

// That nobody listens at, at any address.
inline int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  socklen_t size = sizeof at;
  ::bind(socket, reinterpret_cast<const sockaddr*>(&at), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size);
  ::close(socket);
  return ntohs(at.sin_port);
}

// A connection that sends a request, and hears what comes.
class Talk {
 public:
  Talk(const char* address, int port, const std::string& asked)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, address, &at.sin_addr);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    (void)::send(socket_, asked.data(), asked.size(), MSG_NOSIGNAL);
  }
  ~Talk() { ::close(socket_); }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;
  // By the other side; what that says is read and forgotten.
  bool ended_within(std::chrono::milliseconds time) const {
    const auto end = std::chrono::steady_clock::now() + time;
    while (connected_ && std::chrono::steady_clock::now() < end) {
      char said[256];
      const ssize_t got = ::recv(socket_, said, sizeof said, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return !connected_;
  }

 private:
  int socket_;
  bool connected_ = false;
};

// All of the answer to GET /status with that Host header, and `more` of them, each with its end.
inline std::string http_answer(int port, const std::string& host, const std::string& more = "") {
  const int socket = connected_to(port);
  const std::string asked =
      "GET /status HTTP/1.1\r\nHost: " + host + "\r\n" + more + "Connection: close\r\n\r\n";
  (void)::send(socket, asked.data(), asked.size(), MSG_NOSIGNAL);
  std::string answer;
  char part[4096];
  for (ssize_t got; (got = ::recv(socket, part, sizeof part, 0)) > 0;) {
    answer.append(part, static_cast<std::size_t>(got));
  }
  ::close(socket);
  return answer;
}

// So many overlapping ranges as a header's value.
inline std::string many_ranges(int count) {
  std::string ranges = "bytes=0-";
  for (int i = 1; i < count; ++i) ranges += ",0-";
  return ranges;
}

// Answers every connection with the same, whatever is asked.
class OneAnswer {
 public:
  explicit OneAnswer(const std::string& body)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    ::bind(listener_, reinterpret_cast<const sockaddr*>(&at), size);
    ::listen(listener_, 4);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    const std::string text =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body;
    thread_ = std::jthread([this, text] {
      for (int one; (one = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(one)) {
        char asked[4096];
        if (::recv(one, asked, sizeof asked, 0) <= 0) continue;
        for (std::size_t done = 0; done < text.size();) {
          const ssize_t sent = ::send(one, text.data() + done, text.size() - done, MSG_NOSIGNAL);
          if (sent <= 0) break;
          done += static_cast<std::size_t>(sent);
        }
      }
    });
  }
  ~OneAnswer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_ = {};
    ::close(listener_);
  }
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;
  std::string port() const { return std::to_string(port_); }

 private:
  int listener_, port_ = 0;
  std::jthread thread_;
};

// Sends a request byte by byte and never ends it.
class Drip {
 public:
  explicit Drip(int port) : socket_(connected_to(port)) {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested() && ::send(socket_, "G", 1, MSG_NOSIGNAL) == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      }
    });
  }
  ~Drip() {
    thread_ = {};
    ::close(socket_);
  }
  Drip(const Drip&) = delete;
  Drip& operator=(const Drip&) = delete;

 private:
  int socket_;
  std::jthread thread_;
};

}  // namespace fettle::test
