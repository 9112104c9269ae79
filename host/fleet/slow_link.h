// How long what was sent over one connection may still be on its way. A board or a laptop can
// be behind a slow link, on which messages arrive one after the other: a heartbeat behind a
// large blob is late, not missing.
#pragma once

#include <algorithm>

#include "host/fleet/peer.h"

namespace fettle::fleet {

class SlowLink {
 public:
  static constexpr std::uint64_t kBytesPerSecond = 128 << 10;  // no less is counted on

  void send(std::uint64_t bytes, TimePoint now) {
    sent_ += bytes;
    arrived_ = arrived(now) + time_of(bytes);
  }
  // Bytes sent so far: what the peer answers to a message tells that all until then arrived.
  std::uint64_t mark() const { return sent_; }
  void answered(std::uint64_t mark, TimePoint now) {
    arrived_ = std::min(arrived_, now + time_of(sent_ - mark));
  }
  // The connection is a new one: what was on its way is gone. Marks go on.
  void drop() { arrived_ = {}; }
  // When the last of it has arrived, at the latest; not before `now`.
  TimePoint arrived(TimePoint now) const { return std::max(arrived_, now); }

 private:
  static milliseconds time_of(std::uint64_t bytes) {
    return milliseconds(bytes * 1000 / kBytesPerSecond);
  }
  std::uint64_t sent_ = 0;
  TimePoint arrived_;
};

}  // namespace fettle::fleet
