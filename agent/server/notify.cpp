// The sd_notify protocol (notify.h).
#include "agent/server/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace fettle::agent {
namespace {

std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  const std::string text = value ? value : "";
  unsetenv(name);
  return text;
}

// Connected to `path`, a file or (first character '@') a name in the abstract space; -1.
int connect_to(const std::string& path) {
  sockaddr_un address{};
  if (path.size() < 2 || path.size() >= sizeof address.sun_path) return -1;
  if (path[0] != '/' && path[0] != '@') return -1;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = 0;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() +
                                             (path[0] == '@' ? 0 : 1));
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

}  // namespace

ServiceNotifier ServiceNotifier::from_environment() {
  ServiceNotifier out;
  const std::string path = take_variable("NOTIFY_SOCKET");
  const std::string microseconds = take_variable("WATCHDOG_USEC");
  const std::string pid = take_variable("WATCHDOG_PID");
  out.fd_ = connect_to(path);
  // A watchdog meant for another process is not ours to feed.
  const bool ours = pid.empty() || std::strtoll(pid.c_str(), nullptr, 10) == getpid();
  if (out.fd_ >= 0 && ours) {
    out.watchdog_interval_ns_ = std::strtoull(microseconds.c_str(), nullptr, 10) * 1000 / 2;
  }
  return out;
}

ServiceNotifier::ServiceNotifier(ServiceNotifier&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), watchdog_interval_ns_(other.watchdog_interval_ns_) {}

ServiceNotifier& ServiceNotifier::operator=(ServiceNotifier&& other) noexcept {
  std::swap(fd_, other.fd_);
  watchdog_interval_ns_ = other.watchdog_interval_ns_;
  return *this;
}

ServiceNotifier::~ServiceNotifier() {
  if (fd_ >= 0) close(fd_);
}

void ServiceNotifier::ready(const std::string& status) { send("READY=1\nSTATUS=" + status); }
void ServiceNotifier::status(const std::string& text) { send("STATUS=" + text); }
void ServiceNotifier::stopping() { send("STOPPING=1\nSTATUS=stopping"); }
void ServiceNotifier::alive() { send("WATCHDOG=1"); }

void ServiceNotifier::send(const std::string& datagram) const {
  if (fd_ < 0) return;
  // A manager that does not read must not stop the agent.
  (void)::send(fd_, datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace fettle::agent
