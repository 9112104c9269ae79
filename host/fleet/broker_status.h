// A broker in numbers: what `fettle broker --status` and a monitoring system read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/fleet/broker_core.h"

namespace fettle::fleet {

struct BrokerStatus {
  std::string endpoint;
  std::uint64_t up_seconds = 0;
  // Connections that have proven a key, those that have not yet, how many were cut off, and how
  // often somebody dialled with a key that is not on the allow list (one who goes on: each time).
  std::uint64_t connections = 0, unproven = 0, cut_off = 0, unknown_keys = 0;
  std::uint64_t agents = 0, builders = 0, leases = 0, waiting = 0, blob_bytes = 0;
  std::uint64_t reserved = 0, drifting = 0;
  struct Counters {  // since it was started: BrokerCounters
    std::uint64_t submitted = 0, completed = 0, requeued = 0, device_lost = 0, stale_results = 0,
                  malformed = 0, unauthorized = 0, rejected = 0, quota_hits = 0, overdue = 0,
                  known_builds = 0;
  } counters;
  std::vector<ClientUsage> clients;
  std::vector<wire::SessionStatusT> sessions;
  std::vector<BuildQueue> builds;  // by version
  BoardStates boards{};            // how many of their devices stand how
};

// What the core knows of it.
BrokerStatus status_of(const BrokerCore& core, TimePoint now);

std::string to_json(const BrokerStatus& status);
// Prometheus' text format 0.0.4; every name begins with fettle_broker_.
// A farm of build workers is grown and shrunk by fettle_broker_builds_wanted.
std::string to_prometheus(const BrokerStatus& status);

}  // namespace fettle::fleet
