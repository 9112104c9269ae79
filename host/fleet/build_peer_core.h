// A build worker's half of the protocol as a state machine: requests that the broker assigned, and
// what was made of them, until the broker has all of it. No sockets, no processes, no clock.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/fleet/build_blobs.h"
#include "host/fleet/peer.h"
#include "host/fleet/slow_link.h"
#include "host/fleet/trial.h"

namespace fettle::fleet {

struct BuildPeerPlan {
  std::string version;         // of what it builds with (build_key.h)
  std::string name;            // of this machine, for people
  std::uint32_t builders = 1;  // up to limits::kDevices
  std::string where;           // the broker's address, for messages
};

class BuildPeerCore {
 public:
  BuildPeerCore(BuildPeerPlan plan, std::uint64_t instance, TimePoint now);

  void receive(ByteView bytes, TimePoint now);
  // Call at least every half heartbeat.
  void tick(TimePoint now);
  std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }

  // What a free builder is to build next; its id is the lease. No more are given out than there
  // are builders.
  std::optional<wire::BuildRequestT> next();
  // Of each that next() gave, once.
  void built(LeaseId lease, wire::BuildResultT result, TimePoint now);

  // The broker refuses this worker: for good.
  const std::optional<Error>& error() const { return error_; }
  bool welcomed() const { return welcomed_; }
  milliseconds heartbeat() const { return heartbeat_; }
  std::size_t held() const { return held_.size(); }

 private:
  struct Held {
    std::optional<wire::BuildRequestT> waits;  // for a builder
    SharedBytes done;                          // what was said of it; null: it is not built yet
    BlobMap blobs;                             // that its program names
  };
  void say_hello(TimePoint now);
  void on_assign(wire::AssignT& assign, TimePoint now);
  void on_wanted(const wire::BlobsWantedT& wanted, TimePoint now);
  void done(LeaseId lease, wire::BuildResultT result, TimePoint now);
  std::vector<LeaseId> leases() const;
  void send(SharedBytes bytes, TimePoint now);

  const BuildPeerPlan plan_;
  const std::uint64_t instance_;
  bool welcomed_ = false;
  std::uint64_t broker_instance_ = 0;
  milliseconds heartbeat_{1000}, silence_{10'000};
  TimePoint last_heard_, last_hello_, last_beat_;
  SlowLink uploads_;  // answers wait behind blobs that were sent
  std::map<LeaseId, Held> held_;
  std::deque<LeaseId> waiting_;
  std::set<LeaseId> building_;  // some of them may be held no more
  std::vector<Outgoing> outgoing_;
  std::optional<Error> error_;
};

}  // namespace fettle::fleet
