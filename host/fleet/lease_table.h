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
  TimePoint arrives;         // at the agent, with its blobs, at the latest
  milliseconds allowed{0};   // once it is the first on its device
  std::optional<TimePoint> first_since;
};

class LeaseTable {
 public:
  // Lease ids count up from `first`, a random number per broker run.
  explicit LeaseTable(LeaseId first) : next_(first) {}

  struct Sending {
    TimePoint now, arrives, believed_until;
    std::uint64_t mark = 0;  // of the link
    milliseconds allowed{0};
  };
  const Lease& grant(TrialPtr trial, DeviceId device, const Sending& sending);
  // One of another run, under its own id.
  void adopt(Lease lease);
  const Lease* find(LeaseId id) const;
  // Ends a lease if it is `agent`'s; empty when it is not (late, or another's).
  std::optional<Lease> finish(LeaseId id, AgentId agent);
  // The trial is no longer wanted: the lease stays, as a used credit, until the
  // agent ends it or does not list it after `believed_until`.
  void release(LeaseId id, TimePoint believed_until);
  // The broker could not run for that long: that time has passed for nobody, and what agents said
  // in it may be older than a lease.
  void stood_still(milliseconds time);
  // Ends and returns all leases of an agent that is gone.
  std::vector<Lease> lost(AgentId agent);
  // Ends and returns the leases of `agent` that it does not list and should.
  std::vector<Lease> missing(AgentId agent, std::span<const LeaseId> listed, TimePoint now);
  // Of `listed`, those that are not leases of `agent`.
  std::vector<LeaseId> unknown(AgentId agent, std::span<const LeaseId> listed) const;
  // The first lease of each device that has been the first for longer than it is allowed, and
  // than the longest of the others: one whose blobs were awaited may have gone before it.
  struct Overdue {
    LeaseId lease;
    DeviceId device;
    milliseconds allowed;
  };
  std::vector<Overdue> overdue(TimePoint now);
  // Ends and returns all leases of a device.
  std::vector<Lease> end_all(DeviceId device);
  std::uint32_t count(DeviceId device) const;
  std::size_t size() const { return leases_.size(); }

 private:
  Lease take(LeaseId id);
  LeaseId next_;
  std::unordered_map<LeaseId, Lease> leases_;
  std::unordered_map<AgentId, std::set<LeaseId>> of_agent_;
};

}  // namespace fettle::fleet
