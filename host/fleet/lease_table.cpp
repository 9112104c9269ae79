// Leases by id and by agent instance.
#include "host/fleet/lease_table.h"

#include <algorithm>

namespace fettle::fleet {

const Lease& LeaseTable::grant(TrialPtr trial, DeviceId device, const Sending& sending) {
  if (next_ == 0) ++next_;  // 0 means no lease
  const LeaseId id = next_++;
  of_agent_[device.agent].insert(id);
  Lease lease{id,
              device,
              nullptr,
              trial->device_key,
              trial->session,
              sending.now,
              sending.believed_until,
              sending.mark,
              sending.arrives,
              sending.allowed,
              std::nullopt};
  lease.trial = std::move(trial);
  return leases_[id] = std::move(lease);
}

void LeaseTable::adopt(Lease lease) {
  of_agent_[lease.device.agent].insert(lease.id);
  const LeaseId id = lease.id;
  leases_[id] = std::move(lease);
}

const Lease* LeaseTable::find(LeaseId id) const {
  const auto found = leases_.find(id);
  return found == leases_.end() ? nullptr : &found->second;
}

Lease LeaseTable::take(LeaseId id) {
  auto node = leases_.extract(id);
  const auto agent = of_agent_.find(node.mapped().device.agent);
  agent->second.erase(id);
  if (agent->second.empty()) of_agent_.erase(agent);
  return std::move(node.mapped());
}

std::optional<Lease> LeaseTable::finish(LeaseId id, AgentId agent) {
  const Lease* lease = find(id);
  if (lease == nullptr || lease->device.agent != agent) return std::nullopt;
  return take(id);
}

void LeaseTable::release(LeaseId id, TimePoint believed_until) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  found->second.trial = nullptr;
  found->second.believed_until = believed_until;
}

void LeaseTable::stood_still(milliseconds time) {
  for (auto& [id, lease] : leases_) {
    lease.believed_until += time;
    lease.arrives += time;
    if (lease.first_since) *lease.first_since += time;
  }
}

std::vector<Lease> LeaseTable::lost(AgentId agent) {
  std::vector<Lease> ended;
  const auto found = of_agent_.find(agent);
  if (found == of_agent_.end()) return ended;
  const std::set<LeaseId> ids = found->second;
  for (LeaseId id : ids) ended.push_back(take(id));
  return ended;
}

std::vector<Lease> LeaseTable::missing(AgentId agent, std::span<const LeaseId> listed,
                                       TimePoint now) {
  std::vector<LeaseId> ids;
  const auto found = of_agent_.find(agent);
  if (found == of_agent_.end()) return {};
  for (LeaseId id : found->second) {
    const bool is_listed = std::find(listed.begin(), listed.end(), id) != listed.end();
    if (!is_listed && leases_.at(id).believed_until <= now) ids.push_back(id);
  }
  std::vector<Lease> ended;
  for (LeaseId id : ids) ended.push_back(take(id));
  return ended;
}

std::vector<LeaseId> LeaseTable::unknown(AgentId agent, std::span<const LeaseId> listed) const {
  std::vector<LeaseId> strangers;
  for (LeaseId id : listed) {
    const Lease* lease = find(id);
    if (lease == nullptr || lease->device.agent != agent) strangers.push_back(id);
  }
  return strangers;
}

std::vector<LeaseTable::Overdue> LeaseTable::overdue(TimePoint now) {
  struct OnDevice {
    Lease* first = nullptr;
    milliseconds others{0};
  };
  std::vector<Overdue> late;
  for (const auto& [agent, ids] : of_agent_) {
    std::map<std::uint32_t, OnDevice> devices;
    for (LeaseId id : ids) {  // in the order of their granting
      Lease& lease = leases_.at(id);
      OnDevice& on = devices[lease.device.index];
      if (on.first == nullptr)
        on.first = &lease;
      else
        on.others = std::max(on.others, lease.allowed);
    }
    for (const auto& [index, on] : devices) {
      Lease& first = *on.first;
      if (!first.first_since) first.first_since = std::max(now, first.arrives);
      const milliseconds allowed = first.allowed + on.others;
      if (now - *first.first_since >= allowed) late.push_back({first.id, first.device, allowed});
    }
  }
  return late;
}

std::vector<Lease> LeaseTable::end_all(DeviceId device) {
  std::vector<LeaseId> ids;
  if (const auto found = of_agent_.find(device.agent); found != of_agent_.end()) {
    for (LeaseId id : found->second)
      if (leases_.at(id).device == device) ids.push_back(id);
  }
  std::vector<Lease> ended;
  for (LeaseId id : ids) ended.push_back(take(id));
  return ended;
}

std::uint32_t LeaseTable::count(DeviceId device) const {
  const auto found = of_agent_.find(device.agent);
  if (found == of_agent_.end()) return 0;
  return static_cast<std::uint32_t>(
      std::count_if(found->second.begin(), found->second.end(),
                    [&](LeaseId id) { return leases_.at(id).device == device; }));
}

}  // namespace fettle::fleet
