// Connections to a port, by this process's descriptors (connections.h).
#include "host/web/connections.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <utility>
#include <vector>

namespace fettle::web {
namespace {

// Never copied: closing a copy of a file's descriptor would give up the locks on it.
std::vector<int> descriptors() {
  std::vector<int> numbers;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return numbers;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] != '.') numbers.push_back(std::atoi(entry->d_name));
  }
  closedir(folder);
  return numbers;
}

// -1: it is no connection of TCP.
int own_port(int socket) {
  sockaddr_storage own{}, peer{};
  socklen_t own_size = sizeof own, peer_size = sizeof peer;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) != 0) return -1;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) return -1;
  if (own.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in&>(own).sin_port);
  if (own.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6&>(own).sin6_port);
  return -1;
}

}  // namespace

void Connections::end_older_than(std::chrono::milliseconds age) {
  const TimePoint now = std::chrono::steady_clock::now();
  std::map<ino_t, TimePoint> before = std::exchange(since_, {});
  for (const int descriptor : descriptors()) {
    struct stat facts{};
    if (own_port(descriptor) != port_ || fstat(descriptor, &facts) != 0) continue;
    const auto known = before.find(facts.st_ino);
    const TimePoint since = known == before.end() ? now : known->second;
    since_.emplace(facts.st_ino, since);
    if (now - since >= age) ::shutdown(descriptor, SHUT_RDWR);
  }
}

}  // namespace fettle::web
