// Which connections a listener cuts off: those that have not proven whose they are are bounded,
// for each address and in all, so that they use up neither descriptors nor memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fettle::fleet {

struct ConnectionLimits {
  std::size_t unproven = 192;            // in all
  std::size_t unproven_of_address = 96;  // of one IP address
  std::size_t of_key = 256;              // connections that one key has proven
};

// A connection is its descriptor, which the listener may use again when it is gone.
class OpenConnections {
 public:
  explicit OpenConnections(ConnectionLimits limits = {}) : limits_(limits) {}

  // One more; returns the one to cut off for it, if any: the oldest unproven one of its address
  // where that has too many, else of the address that has most. A peer that is quick to prove
  // itself is let in however many others dial.
  std::optional<int> accepted(int fd, const std::string& address);
  // It has sent what only the owner of that key can; the oldest of the key's where these are too
  // many. A descriptor that was not accepted, or is proven, changes nothing.
  std::optional<int> proven(int fd, const std::string& key);
  void gone(int fd);

  std::vector<int> unproven_ones() const;  // oldest first
  std::size_t unproven() const { return unproven_.size(); }
  std::size_t all() const { return connections_.size(); }

 private:
  struct Connection {
    std::string address, key;  // key: "" until proven
    std::uint64_t number = 0;  // counts up
  };
  std::optional<int> oldest_of(const std::string& address) const;

  ConnectionLimits limits_;
  std::map<int, Connection> connections_;
  std::map<std::uint64_t, int> unproven_;                     // by number: oldest first
  std::map<std::string, std::size_t> unproven_of_;            // by address
  std::map<std::string, std::map<std::uint64_t, int>> keys_;  // proven, oldest first
  std::uint64_t next_ = 0;
};

}  // namespace fettle::fleet
