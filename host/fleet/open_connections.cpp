// Counting connections (open_connections.h).
#include "host/fleet/open_connections.h"

#include <algorithm>

namespace fettle::fleet {

std::optional<int> OpenConnections::oldest_of(const std::string& address) const {
  for (const auto& [number, fd] : unproven_) {
    if (connections_.at(fd).address == address) return fd;
  }
  return std::nullopt;
}

std::optional<int> OpenConnections::accepted(int fd, const std::string& address) {
  gone(fd);  // the word of its end may still be on its way
  std::optional<int> cut;
  if (unproven_of_[address] >= limits_.unproven_of_address) {
    cut = oldest_of(address);
  } else if (unproven_.size() >= limits_.unproven) {
    const auto most =
        std::max_element(unproven_of_.begin(), unproven_of_.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    cut = oldest_of(most->first);
  }
  if (cut) gone(*cut);
  const std::uint64_t number = next_++;
  connections_[fd] = {address, "", number};
  unproven_[number] = fd;
  ++unproven_of_[address];
  return cut;
}

std::optional<int> OpenConnections::proven(int fd, const std::string& key) {
  const auto found = connections_.find(fd);
  if (found == connections_.end() || !found->second.key.empty()) return std::nullopt;
  Connection connection = found->second;
  gone(fd);
  connection.key = key;
  auto& of_key = keys_[key];
  std::optional<int> cut;
  if (of_key.size() >= limits_.of_key) {
    cut = of_key.begin()->second;
    connections_.erase(*cut);
    of_key.erase(of_key.begin());
  }
  of_key[connection.number] = fd;
  connections_[fd] = std::move(connection);
  return cut;
}

std::vector<int> OpenConnections::unproven_ones() const {
  std::vector<int> all;
  for (const auto& [number, fd] : unproven_) all.push_back(fd);
  return all;
}

void OpenConnections::gone(int fd) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  const Connection& connection = found->second;
  if (connection.key.empty()) {
    unproven_.erase(connection.number);
    const auto of = unproven_of_.find(connection.address);
    if (--of->second == 0) unproven_of_.erase(of);
  } else {
    const auto of = keys_.find(connection.key);
    of->second.erase(connection.number);
    if (of->second.empty()) keys_.erase(of);
  }
  connections_.erase(found);
}

}  // namespace fettle::fleet
