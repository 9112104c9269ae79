// Connections to an address, by this process's descriptors (connections.h).
#include "host/web/connections.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

LocalEnd local_end(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return {};
  const auto bytes = [](const auto& address) {
    return std::string(reinterpret_cast<const char*>(&address), sizeof address);
  };
  if (own.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(own);
    return {AF_INET, bytes(v4.sin_addr), ntohs(v4.sin_port)};
  }
  if (own.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(own);
    return {AF_INET6, bytes(v6.sin6_addr), ntohs(v6.sin6_port)};
  }
  return {};
}

// "": it is not connected.
PeerName peer_of(int socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  char address[NI_MAXHOST], port[NI_MAXSERV];
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
      getnameinfo(reinterpret_cast<const sockaddr*>(&peer), size, address, sizeof address, port,
                  sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return std::string(address) + " " + port;
}

bool is_any(const std::string& address) {
  return std::all_of(address.begin(), address.end(), [](char byte) { return byte == 0; });
}

}  // namespace

Connections::Connections(int listener) : here_(local_end(listener)) {}

// A connection's family is its listener's, also where that of IPv6 takes IPv4.
bool Connections::is_here(int socket) const {
  const LocalEnd end = local_end(socket);
  return end.family != 0 && end.family == here_.family && end.port == here_.port &&
         (is_any(here_.address) || end.address == here_.address);
}

void Connections::end_older_than(std::chrono::milliseconds age, const std::set<PeerName>& spared) {
  const TimePoint now = std::chrono::steady_clock::now();
  std::map<ino_t, TimePoint> before = std::exchange(since_, {});
  for (const int descriptor : descriptors()) {
    struct stat facts{};
    if (!is_here(descriptor) || fstat(descriptor, &facts) != 0) continue;
    const PeerName peer = peer_of(descriptor);
    if (peer.empty()) continue;  // the listener
    const auto known = before.find(facts.st_ino);
    const TimePoint since = known == before.end() ? now : known->second;
    since_.emplace(facts.st_ino, since);
    if (now - since < age || spared.contains(peer)) continue;
    // Its thread may have closed it meanwhile, and another one have the number: a copy stays ours.
    const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) continue;
    struct stat same{};
    if (fstat(copy, &same) == 0 && same.st_ino == facts.st_ino && is_here(copy)) {
      ::shutdown(copy, SHUT_RDWR);
    }
    ::close(copy);
  }
}

}  // namespace fettle::web
