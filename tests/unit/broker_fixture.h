// The broker's state machine under times of our own making: no sockets, no threads,
// no sleeping. What it says is kept, peer by peer.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "host/fleet/broker_core.h"
#include "schemas/wire/limits.h"
#include "tests/fault/fleet_peers.h"

namespace fettle::fleet {

inline const Permission kClient{"client", wire::Role::Client, "client-key"};
inline const Permission kOther{"other", wire::Role::Client, "other-key"};
inline const Permission kAgent{"agent", wire::Role::Agent, "agent-key", {}, {"*"}};

// A broker and everything it said, peer by peer.
class BrokerTest : public ::testing::Test {
 protected:
  BrokerTest() = default;
  explicit BrokerTest(const BrokerLimits& other) : core{77, times, other} {}
  BrokerTimes times{milliseconds(100), milliseconds(1000), milliseconds(5000)};
  BrokerCore core{77, times, limits()};
  TimePoint now = TimePoint() + std::chrono::hours(1);
  std::map<PeerId, std::vector<wire::MessageT>> heard;

  static BrokerLimits limits() {
    BrokerLimits limits;
    limits.in_flight = 50;
    limits.blob_bytes = 10'000;
    return limits;
  }

  void collect() {
    for (auto& outgoing : core.take_outgoing()) {
      auto message = decode_message(*outgoing.bytes);
      ASSERT_TRUE(message.ok()) << message.error().text();
      heard[outgoing.to].push_back(std::move(*message));
    }
  }
  template <typename BodyT>
  void say(const PeerId& from, const Permission& who, BodyT body) {
    core.receive(from, who, encode(message_of(std::move(body))), now);
    collect();
  }
  void pass(milliseconds time) {
    now += time;
    core.tick(now);
    collect();
  }
  // Takes what `peer` heard of one kind.
  template <typename BodyT>
  std::vector<BodyT> take(const PeerId& peer) {
    std::vector<BodyT> found;
    auto& all = heard[peer];
    for (auto at = all.begin(); at != all.end();) {
      if (at->body.type != wire::BodyUnionTraits<BodyT>::enum_value) {
        ++at;
        continue;
      }
      found.push_back(std::move(*static_cast<BodyT*>(at->body.value)));
      at = all.erase(at);
    }
    return found;
  }

  void agent(const PeerId& peer, std::uint64_t instance, const std::string& board,
             std::vector<LeaseId> leases = {}, std::uint32_t depth = 2,
             const Permission& who = kAgent) {
    auto hello = agent_hello(instance, board, "pynq", depth);
    hello.leases = std::move(leases);
    say(peer, who, std::move(hello));
  }
  void beat(const PeerId& peer, const Permission& who, std::vector<LeaseId> leases = {}) {
    wire::HeartbeatT heartbeat;
    heartbeat.leases = std::move(leases);
    say(peer, who, std::move(heartbeat));
  }
  void client(const PeerId& peer, std::uint64_t instance, const Permission& who = kClient) {
    wire::HelloT hello;
    hello.protocol_version = limits::kProtocolVersion;
    hello.role = wire::Role::Client;
    hello.instance = instance;
    say(peer, who, std::move(hello));
  }
  void open(const PeerId& peer, std::uint64_t session, int priority = 0,
            const Permission& who = kClient, const std::string& key = "pynq") {
    wire::OpenSessionT request;
    request.session = session;
    request.device_key = key;
    request.priority = priority;
    say(peer, who, std::move(request));
  }
  void submit(const PeerId& peer, std::uint64_t session, std::uint64_t trial,
              std::vector<wire::Hash> blobs = {}, const std::string& board = "",
              const Permission& who = kClient) {
    wire::SubmitT request;
    request.session = session;
    request.trial = trial;
    request.blobs = std::move(blobs);
    request.request = encode(small_request(double(trial)));
    request.board_id = board;
    say(peer, who, std::move(request));
  }
  void done(const PeerId& peer, LeaseId lease, const wire::OutcomeT& outcome,
            const Permission& who = kAgent) {
    wire::DoneT message;
    message.lease = lease;
    message.outcome = encode(outcome);
    say(peer, who, std::move(message));
  }
  std::vector<LeaseId> assigned(const PeerId& peer) {
    std::vector<LeaseId> leases;
    for (const auto& assign : take<wire::AssignT>(peer)) leases.push_back(assign.lease);
    return leases;
  }
  static std::uint64_t trial_of(const wire::AssignT& assign) {
    return static_cast<std::uint64_t>(decode_request(assign.request)->options->racing_bound_ns);
  }
  static ErrorCode failure_of(const wire::CompletedT& completed) {
    auto outcome = decode_outcome(completed.outcome);
    EXPECT_TRUE(outcome.ok());
    if (!outcome || !outcome->body.AsFailure()) return ErrorCode::Internal;
    return outcome->body.AsFailure()->error->code;
  }
};

}  // namespace fettle::fleet
