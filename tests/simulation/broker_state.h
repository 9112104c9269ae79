// What a BrokerCore holds, read from its private members: this file's source is compiled without
// access control, so that the product needs no door for tests.
#pragma once

#include <cstddef>
#include <string>

#include "host/fleet/broker_core.h"

namespace fettle::fleet::simulation {

struct BrokerState {
  std::size_t peers = 0, agents = 0, clients = 0, sessions = 0, trials = 0, leases = 0,
              waiting = 0,    // trials that the scheduler queues
      waiting_for_blobs = 0,  // hashes that trials wait for
      pins = 0, devices = 0,  // of the scheduler
      shares = 0, scheduler_keys = 0,
              completed = 0,  // kept for clients that come back
      blob_bytes = 0, outgoing = 0;
};
BrokerState state_of(const BrokerCore& core);
bool holds_lease(const BrokerCore& core, LeaseId lease);

// "" or which of the invariants that hold between any two calls is broken:
//   - a trial's lease is in the table, of that trial, on a device of an agent that is known;
//   - no lease is there that no agent owns, and no two leases are of one trial;
//   - no device has more leases than its queue is deep;
//   - a trial is in just one place: waits for blobs, waits for a device, or is on one;
//   - what the scheduler counts as used are the leases;
//   - a device is offered only while its agent is connected;
//   - no trial waits that an open device could take;
//   - everything is within its limit.
std::string broken_invariant(const BrokerCore& core);

}  // namespace fettle::fleet::simulation
