// Which trial is on which board. A lease belongs to one agent instance; what an
// agent says of a lease that is not its own, or not any more, counts for nothing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "host/fleet/trial.h"

namespace fettle::fleet {

struct Lease {
  LeaseId id = 0;
  DeviceId device;
  TrialPtr trial;  // null: released, only its credit is still in use
  std::string device_key;
  SessionKey session;
  TimePoint granted;
  TimePoint believed_until;  // until then an agent that does not list it may not have seen it yet
  std::uint64_t sent = 0;    // its link's mark when it was on its way
};

class LeaseTable {
 public:
  // Lease ids count up from `first`, a random number per broker run.
  explicit LeaseTable(LeaseId first) : next_(first) {}

  const Lease& grant(TrialPtr trial, DeviceId device, TimePoint now, TimePoint believed_until,
                     std::uint64_t sent);
  const Lease* find(LeaseId id) const;
  // Ends a lease if it is `agent`'s; empty when it is not (late, or another's).
  std::optional<Lease> finish(LeaseId id, AgentId agent);
  // The trial is no longer wanted: the lease stays, as a used credit, until the
  // agent ends it or does not list it after `believed_until`.
  void release(LeaseId id, TimePoint believed_until);
  // The broker could not run for that long: what agents said in it may be older than a lease.
  void stood_still(milliseconds time);
  // Ends and returns all leases of an agent that is gone.
  std::vector<Lease> lost(AgentId agent);
  // Ends and returns the leases of `agent` that it does not list and should.
  std::vector<Lease> missing(AgentId agent, std::span<const LeaseId> listed, TimePoint now);
  // Of `listed`, those that are not leases of `agent`.
  std::vector<LeaseId> unknown(AgentId agent, std::span<const LeaseId> listed) const;
  std::uint32_t count(DeviceId device) const;
  std::size_t size() const { return leases_.size(); }

 private:
  Lease take(LeaseId id);
  LeaseId next_;
  std::unordered_map<LeaseId, Lease> leases_;
  std::unordered_map<AgentId, std::set<LeaseId>> of_agent_;
};

}  // namespace fettle::fleet
