// Devices that held a trial beyond its deadline: they rest, twice as long each time, and have
// one credit until they answer in time again. By key and board, so that an agent that is
// started anew is no better for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "host/fleet/peer.h"

namespace fettle::fleet {

struct StandingKey {
  std::string public_key, board_id;
  std::uint32_t device = 0;
  auto operator<=>(const StandingKey&) const = default;
};

class DeviceStandings {
 public:
  static constexpr milliseconds kFirstRest{60'000}, kLongestRest{3'600'000};

  void overdue(const StandingKey& device, TimePoint now);
  // It answered in time. True: it was not in good standing before.
  bool answered(const StandingKey& device) { return late_.erase(device) != 0; }
  bool rests(const StandingKey& device, TimePoint now) const;
  bool good(const StandingKey& device) const { return late_.count(device) == 0; }

 private:
  struct Late {
    unsigned times = 0;
    TimePoint until;
  };
  std::map<StandingKey, Late> late_;  // bounded: kMost
};

}  // namespace fettle::fleet
