// What no client's library would send to a server of this machine.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
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

// All of the answer to GET /status with that Host header.
inline std::string http_answer(int port, const std::string& host) {
  const int socket = connected_to(port);
  const std::string asked =
      "GET /status HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
  (void)::send(socket, asked.data(), asked.size(), MSG_NOSIGNAL);
  std::string answer;
  char part[4096];
  for (ssize_t got; (got = ::recv(socket, part, sizeof part, 0)) > 0;) {
    answer.append(part, static_cast<std::size_t>(got));
  }
  ::close(socket);
  return answer;
}

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
