// The broker's invariants (broker_state.h). Compiled with -fno-access-control.
#include "tests/simulation/broker_state.h"

#include <map>
#include <set>

namespace fettle::fleet::simulation {

BrokerState state_of(const BrokerCore& core) {
  BrokerState state;
  state.peers = core.peers_.size();
  state.agents = core.agents_.size();
  state.clients = core.clients_.size();
  for (const auto& [id, client] : core.clients_) {
    state.sessions += client.sessions.size();
    for (const auto& [number, session] : client.sessions) {
      state.trials += session.trials.size();
      state.completed += session.completed.size();
    }
  }
  state.leases = core.leases_.size();
  state.waiting = core.scheduler_.waiting().size();
  state.waiting_for_blobs = core.waiting_for_blob_.size();
  state.pins = core.blobs_.pins_.size();
  state.blob_bytes = core.blobs_.bytes();
  state.devices = core.scheduler_.devices_.size();
  state.scheduler_keys = core.scheduler_.keys_.size();
  for (const auto& [name, key] : core.scheduler_.keys_) state.shares += key.shares.size();
  state.outgoing = core.outgoing_.size();
  return state;
}

bool holds_lease(const BrokerCore& core, LeaseId lease) {
  return core.leases_.find(lease) != nullptr;
}

namespace {

std::string name_of(const Trial& trial) {
  return "trial " + std::to_string(trial.number) + " of session " +
         std::to_string(trial.session.session);
}

std::string broken_trial(const BrokerCore& core, const TrialPtr& trial,
                         const std::set<TrialPtr>& queued) {
  const bool waits = queued.count(trial) != 0;
  if (waits != trial->waiting) return name_of(*trial) + " is queued, or not, against its word";
  const int places = (trial->lease != 0) + waits + (trial->blobs_missing > 0);
  if (places != 1) {
    return name_of(*trial) + " is in " + std::to_string(places) + " places, not in one";
  }
  if (trial->attempts > core.limits_.attempts) return name_of(*trial) + " was tried too often";
  if (trial->lease == 0) return "";
  const Lease* lease = core.leases_.find(trial->lease);
  if (lease == nullptr) return name_of(*trial) + " has a lease that is not there";
  if (lease->trial != trial) return name_of(*trial) + " has the lease of another";
  return "";
}

std::string broken_lease(const BrokerCore& core, const Lease& lease,
                         std::set<const Trial*>& leased) {
  const auto agent = core.agents_.find(lease.device.agent);
  if (agent == core.agents_.end()) return "a lease is of an agent that is gone";
  if (!lease.trial) return "";
  if (!leased.insert(lease.trial.get()).second) return name_of(*lease.trial) + " is leased twice";
  if (lease.trial->lease != lease.id) return name_of(*lease.trial) + " does not know its lease";
  const auto client = core.clients_.find(lease.trial->session.client);
  if (client == core.clients_.end()) return "a lease is of a client that is gone";
  const auto session = client->second.sessions.find(lease.trial->session.session);
  if (session == client->second.sessions.end()) return "a lease is of a session that is gone";
  const auto trial = session->second.trials.find(lease.trial->number);
  if (trial == session->second.trials.end() || trial->second != lease.trial) {
    return "a lease is of a trial that its session does not have";
  }
  return "";
}

}  // namespace

std::string broken_invariant(const BrokerCore& core) {
  std::set<const Trial*> leased;
  for (const auto& [id, lease] : core.leases_.leases_) {
    if (auto broken = broken_lease(core, lease, leased); !broken.empty()) return broken;
  }
  const auto waiting = core.scheduler_.waiting();
  const std::set<TrialPtr> queued(waiting.begin(), waiting.end());
  if (queued.size() != waiting.size()) return "a trial is queued twice";
  std::size_t trials = 0;
  for (const auto& [id, client] : core.clients_) {
    if (client.sessions.size() > core.limits_.sessions) return "a client has too many sessions";
    for (const auto& [number, session] : client.sessions) {
      trials += session.trials.size();
      if (session.trials.size() > core.limits_.in_flight) return "a session has too many trials";
      if (session.completed.size() > core.limits_.completed_kept ||
          session.completed_order.size() > core.limits_.completed_kept) {
        return "a session keeps too many results";
      }
      for (const auto& [n, trial] : session.trials) {
        if (auto broken = broken_trial(core, trial, queued); !broken.empty()) return broken;
        if (trial->waiting && core.scheduler_.keys_.count(trial->device_key) != 0) {
          const auto& key = core.scheduler_.keys_.at(trial->device_key);
          for (const auto& [used, last, device] : key.open) {
            if (core.scheduler_.devices_.at(device).takes(trial->client_key, trial->board_id,
                                                          trial->kind)) {
              return name_of(*trial) + " waits, and a device that could take it is free";
            }
          }
        }
      }
    }
  }
  if (queued.size() + leased.size() > trials) return "a trial is queued of a session that is gone";
  for (const auto& [id, agent] : core.agents_) {
    for (const auto& device : agent.devices) {
      const DeviceId place{id, device.index};
      const std::uint32_t count = core.leases_.count(place);
      if (count > device.queue_depth) {
        return "device " + device.key + " has " + std::to_string(count) + " leases, its queue is " +
               std::to_string(device.queue_depth) + " deep";
      }
      const bool open = core.scheduler_.devices_.count(place) != 0;
      if (open && agent.peer.empty()) return "device " + device.key + " is offered, but not there";
      if (open && core.scheduler_.in_use(place) != count) {
        return "device " + device.key + " has " + std::to_string(count) + " leases and " +
               std::to_string(core.scheduler_.in_use(place)) + " used credits";
      }
    }
  }
  std::map<SessionKey, std::uint32_t> active;
  for (const auto& [id, lease] : core.leases_.leases_) ++active[lease.session];
  for (const auto& [name, key] : core.scheduler_.keys_) {
    for (const auto& [session, share] : key.shares) {
      if (share.active > active[session]) return "a session's share counts leases that ended";
    }
  }
  if (core.blobs_.bytes() > core.limits_.blob_bytes) return "the store of blobs is over its limit";
  for (const auto& [peer, known] : core.peers_) {
    if (known.agent != 0 && core.agents_.count(known.agent) == 0) return "a peer's agent is gone";
    if (known.agent == 0 && core.clients_.count(known.client) == 0)
      return "a peer's client is gone";
  }
  return "";
}

}  // namespace fettle::fleet::simulation
