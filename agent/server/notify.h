// Telling a service manager how the agent is: the sd_notify protocol (sd_notify(3)),
// datagrams to the socket that $NOTIFY_SOCKET names. Without one, all of it is silent.
#pragma once

#include <cstdint>
#include <string>

namespace fettle::agent {

class ServiceNotifier {
 public:
  // Takes $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID out of the environment,
  // so that no worker inherits them. A socket that cannot be had is as none.
  static ServiceNotifier from_environment();
  ServiceNotifier() = default;
  ServiceNotifier(ServiceNotifier&& other) noexcept;
  ServiceNotifier& operator=(ServiceNotifier&& other) noexcept;
  ~ServiceNotifier();

  void ready(const std::string& status);  // serving; once
  void status(const std::string& text);   // one line for people
  void stopping();
  // Nanoseconds between two signs of life, half of what the manager allows; 0: none wanted.
  std::uint64_t watchdog_interval_ns() const { return watchdog_interval_ns_; }
  void alive();

 private:
  void send(const std::string& datagram) const;
  int fd_ = -1;
  std::uint64_t watchdog_interval_ns_ = 0;
};

}  // namespace fettle::agent
