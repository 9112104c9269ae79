// One submitted request on its way through the broker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/fleet/peer.h"

namespace fettle::fleet {

using AgentId = std::uint64_t;   // one agent instance, of this broker run
using LeaseId = std::uint64_t;   // never used twice, not even by another broker run
using ClientId = std::uint64_t;  // the client's instance

// Sessions are chosen by clients at random, so they are only unique per client.
struct SessionKey {
  ClientId client = 0;
  std::uint64_t session = 0;
  auto operator<=>(const SessionKey&) const = default;
};

struct DeviceId {
  AgentId agent = 0;
  std::uint32_t index = 0;
  auto operator<=>(const DeviceId&) const = default;
};

constexpr std::uint32_t kMostSpared = 16;

struct Trial {
  SessionKey session;
  std::uint64_t number = 0;  // the client's
  std::string device_key;
  std::string client_key;  // public key of its client
  std::string board_id;    // only this board, when set
  std::string kind;        // else boards of this kind alone (device_kind.h), when set
  int priority = 0;
  std::uint64_t worker_session =
      0;                // its session by the broker's own number: agents keep them apart
  SharedBytes request;  // encoded MeasureRequest, or BuildRequest where it is `build`, forwarded as
                        // it came; null: refused
  bool build = false;   // for a builder
  std::vector<wire::Hash> blobs;
  milliseconds longest{0};  // by the limits that the request states, all stages of it

  std::size_t charged = 0;              // bytes, to its client's key
  std::uint32_t attempts = 0;           // boards it was given to, without
  std::uint32_t spared = 0;             // those that ended by themselves, up to kMostSpared
  std::size_t blobs_missing = 0;        // 0: may be given to a board
  std::uint64_t blob_wait_ns = 0;       // the client's blobs took this long to come
  bool waiting = false;                 // the scheduler's: in one of its queues
  LeaseId lease = 0;                    // 0: not on a board
  SharedBytes built;                    // a builder's result, while blobs that it names are awaited
  std::vector<wire::Hash> built_blobs;  // these, sorted and pinned
  wire::Hash question;                  // of a `build`, for the cache
  TimePoint submitted, ready;           // ready: all its blobs are here, or it came back
  TimePoint waits_since;                // for the last blob that it began to wait for
};
using TrialPtr = std::shared_ptr<Trial>;

}  // namespace fettle::fleet
