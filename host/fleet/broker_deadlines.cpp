// How long a lease may take, though its agent heartbeats: trials of devices that are late go
// elsewhere, and those devices rest.
#include <algorithm>

#include "host/fleet/broker_core.h"
#include "host/fleet/pool.h"
#include "schemas/wire/clock_domain.h"
#include "schemas/wire/stage_limits.h"

namespace fettle::fleet {
namespace {

std::string seconds_of(milliseconds time) { return std::to_string(time.count() / 1000) + " s"; }

StandingKey standing_of(const Permission& who, const wire::BoardT& board, std::uint32_t device) {
  return {who.public_key, board.id, device};
}

}  // namespace

// The longest that the request may take with a builder, or on a board by the limits of all its
// stages, and of the broker's own: many repeats and retakes are allowed for, and hardly ever
// needed.
Result<milliseconds> BrokerCore::longest_time(const Trial& trial) const {
  if (trial.build) return times_.build;
  auto options = decode_options(*trial.request);
  if (!options) return std::move(options).error().in("reading the request");
  const milliseconds longest(StageLimits{}.whole_trial_ns(*options) / 1'000'000);
  return std::min(longest, times_.trial);
}

// Of a lease once no other is before it on its device. Agents that count instructions count
// their limits by a clock that lags behind the broker's.
milliseconds BrokerCore::allowed_time(const Agent& agent, std::uint32_t index,
                                      const Trial& trial) const {
  milliseconds longest = trial.longest;
  for (const auto& device : agent.devices) {
    if (device.index == index && !clock_facts(device.clock).has_rate)
      longest *= static_cast<int>(kInstructionClockLag);
  }
  return longest + times_.lease_slack;
}

void BrokerCore::end_overdue_leases(TimePoint now) {
  for (const LeaseTable::Overdue& late : leases_.overdue(now)) {
    const auto found = agents_.find(late.device.agent);
    if (found == agents_.end() || leases_.find(late.lease) == nullptr) continue;
    Agent& agent = found->second;
    ++counters_.overdue;
    const std::string why = (builds(agent) ? "build worker " : "board ") + agent.board.id +
                            " had it for more than " + seconds_of(late.allowed) +
                            " and sends heartbeats only";
    const Lease& lease = *leases_.find(late.lease);
    BrokerEvent& event = tell(BrokerEventKind::LeaseOverdue, agent.who, why);
    event.board_id = agent.board.id;
    event.lease = lease.id;
    if (lease.trial) {
      event.session = lease.trial->worker_session;
      event.trial = lease.trial->number;
    }
    standings_.overdue(standing_of(agent.who, agent.board, late.device.index), now);
    scheduler_.remove_device(late.device);
    std::vector<Lease> ended = leases_.end_all(late.device);
    for (const Lease& each : ended) {
      wire::ReleaseT release;
      release.lease = each.id;
      send(agent.peer, std::move(release));
      give_back(each, now);
    }
    for (Lease& each : ended) {
      // Those behind it never had their turn: it costs them no attempt.
      if (each.id != late.lease && each.trial) --each.trial->attempts;
      requeue_or_fail(std::move(each), now, why);
    }
    tell_sessions_of_device(agent, late.device.index);
  }
  for (auto& [id, agent] : agents_) {
    if (agent.peer.empty()) continue;
    for (const auto& device : agent.devices) {
      if (!scheduler_.knows({id, device.index})) open_device(agent, device, now);
    }
  }
}

// Unless it rests. One that was late before has a single credit.
void BrokerCore::open_device(Agent& agent, const wire::DeviceInfoT& device, TimePoint now) {
  const StandingKey standing = standing_of(agent.who, agent.board, device.index);
  if (standings_.rests(standing, now)) return;
  const DeviceId id{agent.id, device.index};
  auto placed = scheduler_.add_device(id, pools_of(device), agent.board.id,
                                      standings_.good(standing) ? device.queue_depth : 1,
                                      leases_.count(id), access_of(agent, device.index));
  for (Placement& placement : placed) assign(std::move(placement), now);
  tell_sessions_of_device(agent, device.index);
}

// A device answered in time: it has all its credits again.
void BrokerCore::answered_in_time(Agent& agent, std::uint32_t index, TimePoint now) {
  if (!standings_.answered(standing_of(agent.who, agent.board, index))) return;
  scheduler_.remove_device({agent.id, index});
  for (const auto& device : agent.devices) {
    if (device.index == index) open_device(agent, device, now);
  }
}

void BrokerCore::tell_sessions_of_device(const Agent& agent, std::uint32_t index) {
  for (const auto& device : agent.devices) {
    if (device.index != index) continue;
    for (std::string& pool : pools_of(device)) changed_pools_.insert(std::move(pool));
  }
}

}  // namespace fettle::fleet
