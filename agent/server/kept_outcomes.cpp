// Outcomes on their way (kept_outcomes.h).
#include "agent/server/kept_outcomes.h"

namespace fettle::agent {
namespace {

constexpr std::size_t kMost = 256, kMostBytes = std::size_t{8} << 20;

}  // namespace

void KeptOutcomes::sent(std::uint64_t lease, Bytes outcome) {
  outcomes_.push_back({lease, std::move(outcome), 0});
  std::size_t bytes = 0;
  for (const Outcome& each : outcomes_) bytes += each.bytes.size();
  while (outcomes_.size() > kMost || bytes > kMostBytes) {
    bytes -= outcomes_.front().bytes.size();
    outcomes_.pop_front();
  }
}

void KeptOutcomes::heartbeat_answered() {
  for (Outcome& each : outcomes_) ++each.echoes;
  while (!outcomes_.empty() && outcomes_.front().echoes >= kEchoes) outcomes_.pop_front();
}

void KeptOutcomes::forget(std::uint64_t lease) {
  std::erase_if(outcomes_, [&](const Outcome& each) { return each.lease == lease; });
}

std::vector<std::uint64_t> KeptOutcomes::leases() const {
  std::vector<std::uint64_t> all;
  for (const Outcome& each : outcomes_) all.push_back(each.lease);
  return all;
}

}  // namespace fettle::agent
