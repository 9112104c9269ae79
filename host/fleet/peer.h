// Words of the broker's and the session's state machines: who a peer is, what
// time it is, and what is to be sent. No sockets here.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "schemas/wire/codec.h"

namespace fettle::fleet {

// Only the broker's own steady clock decides leases; tests pass their own times.
using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using std::chrono::milliseconds;

// The routing id of a ROUTER socket: one connection, not one peer.
using PeerId = std::string;

// Encoded once, sent to any number of peers without a copy.
using SharedBytes = std::shared_ptr<const Bytes>;

struct Outgoing {
  PeerId to;  // "" in a session: the broker
  SharedBytes bytes;
};

inline SharedBytes share(Bytes bytes) { return std::make_shared<const Bytes>(std::move(bytes)); }

template <typename BodyT>
SharedBytes pack_message(BodyT body) {
  return share(encode(message_of(std::move(body))));
}

inline std::uint64_t nanoseconds_between(TimePoint from, TimePoint to) {
  if (to <= from) return 0;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count());
}

// Random and never 0: instances, sessions, the first lease of a broker.
std::uint64_t random_id();

}  // namespace fettle::fleet
