// Rests of late devices (device_standing.h).
#include "host/fleet/device_standing.h"

#include <algorithm>

namespace fettle::fleet {
namespace {

constexpr std::size_t kMost = 4096;

}  // namespace

void DeviceStandings::overdue(const StandingKey& device, TimePoint now) {
  if (late_.size() >= kMost && late_.count(device) == 0) {
    late_.erase(std::min_element(late_.begin(), late_.end(), [](const auto& a, const auto& b) {
      return a.second.until < b.second.until;
    }));
  }
  Late& late = late_[device];
  const unsigned doubled = std::min(late.times++, 10u);
  late.until = now + std::min(kFirstRest * (1u << doubled), kLongestRest);
}

bool DeviceStandings::rests(const StandingKey& device, TimePoint now) const {
  const auto found = late_.find(device);
  return found != late_.end() && now < found->second.until;
}

}  // namespace fettle::fleet
