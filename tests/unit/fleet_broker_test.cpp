// The broker's state machine, fault by fault, with times of our own making: no
// sockets, no threads, no sleeping.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "host/fleet/broker_core.h"
#include "schemas/wire/content_hash.h"
#include "schemas/wire/limits.h"
#include "tests/fault/fleet_peers.h"

namespace fettle::fleet {
namespace {

using std::chrono::seconds;

const Permission kClient{"client", wire::Role::Client, "client-key"};
const Permission kOther{"other", wire::Role::Client, "other-key"};
const Permission kAgent{"agent", wire::Role::Agent, "agent-key"};

// A broker and everything it said, peer by peer.
class BrokerTest : public ::testing::Test {
 protected:
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

TEST_F(BrokerTest, AnswersOnlyThoseWhoSaidHello) {
  submit("c", 1, 1);
  EXPECT_EQ(take<wire::HelloNeededT>("c").size(), 1u);
  done("a", 1, measured(5));
  EXPECT_EQ(take<wire::HelloNeededT>("a").size(), 1u);
  client("c", 10);
  const auto welcome = take<wire::WelcomeT>("c");
  ASSERT_EQ(welcome.size(), 1u);
  EXPECT_EQ(welcome[0].broker_instance, 77u);
  EXPECT_EQ(welcome[0].heartbeat_ms, 100u);
  EXPECT_EQ(welcome[0].silence_ms, 1000u);
}

TEST_F(BrokerTest, AnotherVersionIsRefusedByName) {
  wire::HelloT hello;
  hello.protocol_version = limits::kProtocolVersion + 1;
  hello.instance = 3;
  say("c", kClient, std::move(hello));
  const auto rejects = take<wire::RejectT>("c");
  ASSERT_EQ(rejects.size(), 1u);
  EXPECT_EQ(rejects[0].error->code, ErrorCode::VersionMismatch);
}

TEST_F(BrokerTest, ARoleIsWhatTheAllowListSays) {
  agent("x", 1, "board", {}, 2, kClient);  // a client's key that says it is an agent
  auto rejects = take<wire::RejectT>("x");
  ASSERT_EQ(rejects.size(), 1u);
  EXPECT_EQ(rejects[0].error->code, ErrorCode::Unauthorized);
  agent("a", 1, "board");
  wire::OpenSessionT open;  // an agent that wants to be a client
  open.device_key = "pynq";
  say("a", kAgent, std::move(open));
  rejects = take<wire::RejectT>("a");
  ASSERT_EQ(rejects.size(), 1u);
  EXPECT_EQ(rejects[0].error->code, ErrorCode::Unauthorized);
  EXPECT_EQ(core.counters().unauthorized.load(), 2u);
}

TEST_F(BrokerTest, AnotherKeyCannotTakeOverASession) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  client("thief", 10, kOther);  // the same instance number, another key
  ASSERT_EQ(take<wire::RejectT>("thief").size(), 1u);
  submit("thief", 5, 1, {}, "", kOther);
  EXPECT_EQ(take<wire::HelloNeededT>("thief").size(), 1u);
  EXPECT_EQ(assigned("a").size(), 0u);
}

TEST_F(BrokerTest, MalformedBytesAreRejectedAndHarmless) {
  core.receive("c", kClient, Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9}, now);
  collect();
  EXPECT_EQ(take<wire::RejectT>("c").size(), 1u);
  EXPECT_EQ(core.counters().malformed.load(), 1u);
  agent("a", 1, "");  // a board without an id
  EXPECT_EQ(take<wire::RejectT>("a").size(), 1u);
}

TEST_F(BrokerTest, NeverMoreLeasesThanCredits) {
  agent("a", 1, "board", {}, 3);
  client("c", 10);
  open("c", 5);
  for (std::uint64_t trial = 0; trial < 20; ++trial) submit("c", 5, trial);
  auto leases = assigned("a");
  EXPECT_EQ(leases.size(), 3u);
  for (int i = 0; i < 17; ++i) {
    done("a", leases.front(), measured(5));
    leases.erase(leases.begin());
    const auto next = assigned("a");
    EXPECT_EQ(next.size(), 1u);
    leases.insert(leases.end(), next.begin(), next.end());
  }
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 17u);
}

TEST_F(BrokerTest, AResultCountsOnce) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto leases = assigned("a");
  ASSERT_EQ(leases.size(), 1u);
  done("a", leases[0], measured(5));
  done("a", leases[0], measured(6));
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(decode_outcome(completed[0].outcome)->body.AsMeasurement()->median, 5);
  EXPECT_EQ(completed[0].attempt, 1u);
  EXPECT_EQ(core.counters().stale_results.load(), 1u);
}

TEST_F(BrokerTest, AnotherAgentCannotAnswerALease) {
  agent("a", 1, "board-1");
  agent("b", 2, "board-2");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  auto leases = assigned("a");
  const PeerId other = leases.empty() ? "a" : "b";
  if (leases.empty()) leases = assigned("b");
  done(other, leases.at(0), measured(1));
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
}

TEST_F(BrokerTest, ASilentBoardsTrialGoesToAnotherAndItsLateResultIsDropped) {
  agent("a", 1, "board-1");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto old = assigned("a");
  agent("b", 2, "board-2");
  for (int i = 0; i < 11; ++i) {
    beat("b", kAgent, assigned("b"));
    beat("c", kClient);
    pass(milliseconds(100));
  }
  EXPECT_EQ(core.counters().requeued.load(), 1u);
  done("a", old.at(0), measured(5));
  EXPECT_EQ(take<wire::HelloNeededT>("a").size(), 1u);  // it is unknown now
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
  // Dialling in again with the old lease: it is told to drop it.
  agent("a", 1, "board-1", {old[0]});
  const auto releases = take<wire::ReleaseT>("a");
  ASSERT_EQ(releases.size(), 1u);
  EXPECT_EQ(releases[0].lease, old[0]);
  done("a", old[0], measured(5));
  EXPECT_EQ(core.counters().stale_results.load(), 1u);
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
}

TEST_F(BrokerTest, LostThreeTimesIsDeviceLost) {
  client("c", 10);
  agent("a0", 1, "board");
  open("c", 5);
  submit("c", 5, 1);
  for (std::uint64_t round = 0; round < 3; ++round) {
    const std::string peer = "a" + std::to_string(round);
    EXPECT_EQ(assigned(peer).size(), 1u) << "attempt " << round + 1;
    EXPECT_TRUE(take<wire::CompletedT>("c").empty());
    for (int i = 0; i < 11; ++i) {
      beat("c", kClient);
      pass(milliseconds(100));
    }
    agent("a" + std::to_string(round + 1), 100 + round, "board");
  }
  EXPECT_TRUE(assigned("a3").empty()) << "no fourth attempt";
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::DeviceLost);
  EXPECT_EQ(completed[0].attempt, 3u);
  EXPECT_EQ(core.counters().requeued.load(), 2u);
  EXPECT_EQ(core.counters().device_lost.load(), 1u);
}

TEST_F(BrokerTest, ARestartedAgentOfTheSameBoardIsFoundOutEarly) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  ASSERT_EQ(assigned("a").size(), 1u);
  agent("b", 2, "board");  // another instance with the same key and board
  beat("c", kClient);
  pass(milliseconds(150));
  EXPECT_TRUE(assigned("b").empty());
  beat("c", kClient);
  pass(milliseconds(60));  // two heartbeats passed, long before silence
  EXPECT_EQ(assigned("b").size(), 1u);
}

TEST_F(BrokerTest, TwoLiveAgentsOfOneBoardLiveOn) {
  agent("a", 1, "board");
  agent("b", 2, "board");
  for (int i = 0; i < 30; ++i) {
    beat("a", kAgent);
    beat("b", kAgent);
    pass(milliseconds(100));
  }
  EXPECT_EQ(core.device_list().keys.at(0)->total, 2u);
}

TEST_F(BrokerTest, ALeaseThatAnAgentDoesNotListComesBackAfterItsGrace) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto first = assigned("a");
  ASSERT_EQ(first.size(), 1u);
  beat("a", kAgent);  // sent before the Assign arrived: believed
  EXPECT_TRUE(assigned("a").empty());
  for (int i = 0; i < 11; ++i) {
    beat("a", kAgent, {});
    beat("c", kClient);
    pass(milliseconds(100));
  }
  const auto second = assigned("a");
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NE(second[0], first[0]);
  done("a", first[0], measured(1));
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
  done("a", second[0], measured(2));
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].attempt, 2u);
}

TEST_F(BrokerTest, AnAgentThatDialsInAgainKeepsWhatItHolds) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  submit("c", 5, 2);
  submit("c", 5, 3);
  const auto leases = assigned("a");
  ASSERT_EQ(leases.size(), 2u);
  agent("a-again", 1, "board", {leases[0]});  // a new connection; the second Assign was lost
  const auto again = assigned("a-again");
  EXPECT_EQ(again.size(), 1u) << "one credit is free, one still in use";
  done("a-again", leases[0], measured(1));
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 1u);
}

TEST_F(BrokerTest, AnAgentMayComeBackWithFewerDevices) {
  auto hello = agent_hello(1, "board", "other", 1);
  auto second = agent_hello(1, "board", "pynq", 1);
  second.devices[0]->index = 1;
  hello.devices.push_back(std::move(second.devices[0]));
  say("a", kAgent, std::move(hello));
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto leases = assigned("a");
  ASSERT_EQ(leases.size(), 1u);
  auto fewer = agent_hello(1, "board", "other", 1);
  fewer.leases = leases;
  say("a", kAgent, std::move(fewer));
  done("a", leases[0], measured(1));
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 1u);
}

TEST_F(BrokerTest, AnotherInstanceOnOneConnectionEndsTheFirst) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto first = assigned("a");
  agent("a", 2, "board");
  const auto second = assigned("a");
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NE(first.at(0), second[0]);
  EXPECT_EQ(core.device_list().keys.at(0)->total, 1u);
  client("c", 11);  // the client's sessions end in the same way
  EXPECT_EQ(take<wire::ReleaseT>("a").size(), 1u);
  submit("c", 5, 2);
  EXPECT_EQ(take<wire::SessionOpenedT>("c").back().error->code, ErrorCode::NotFound);
}

TEST_F(BrokerTest, AGoneConnectionGetsNothingMore) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  core.unreachable("a", now);
  submit("c", 5, 1);
  EXPECT_TRUE(assigned("a").empty());
  agent("a2", 1, "board");
  EXPECT_EQ(assigned("a2").size(), 1u);
}

TEST_F(BrokerTest, PriorityThenFairShare) {
  client("c", 10);
  agent("a", 1, "board", {}, 1);
  open("c", 1);
  open("c", 2);
  open("c", 3, /*priority=*/5);
  submit("c", 1, 100);  // takes the only credit
  for (std::uint64_t i = 0; i < 3; ++i) submit("c", 1, 110 + i);
  for (std::uint64_t i = 0; i < 3; ++i) submit("c", 2, 210 + i);
  submit("c", 3, 300);
  std::vector<std::uint64_t> order;
  for (int i = 0; i < 8; ++i) {
    const auto assigns = take<wire::AssignT>("a");
    ASSERT_EQ(assigns.size(), 1u);
    order.push_back(trial_of(assigns[0]));
    done("a", assigns[0].lease, measured(1));
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{100, 300, 210, 110, 211, 111, 212, 112}));
}

TEST_F(BrokerTest, ASessionWithManyTrialsDoesNotStarveAnother) {
  client("c", 10);
  for (std::uint64_t i = 0; i < 4; ++i) {
    agent("a" + std::to_string(i), 1 + i, "board-" + std::to_string(i), {}, 1);
  }
  open("c", 1);
  open("c", 2);
  for (std::uint64_t i = 0; i < 40; ++i) submit("c", 1, 100 + i);
  for (std::uint64_t i = 0; i < 8; ++i) submit("c", 2, 200 + i);
  int second = 0, all = 0;
  for (int round = 0; round < 4; ++round) {
    for (std::uint64_t i = 0; i < 4; ++i) {
      const PeerId peer = "a" + std::to_string(i);
      for (const auto& assign : take<wire::AssignT>(peer)) {
        if (round > 0) {
          ++all;
          second += trial_of(assign) >= 200;
        }
        done(peer, assign.lease, measured(1));
      }
    }
  }
  EXPECT_EQ(all, 12);
  EXPECT_GE(second, 5);  // about half, though the other has five times as many
}

TEST_F(BrokerTest, AnotherBoardIsNeverUsedForAPinnedTrial) {
  agent("a", 1, "board-1");
  agent("b", 2, "board-2");
  client("c", 10);
  open("c", 5);
  for (std::uint64_t i = 0; i < 6; ++i) submit("c", 5, i, {}, "board-2");
  EXPECT_EQ(assigned("a").size(), 0u);
  auto leases = assigned("b");
  EXPECT_EQ(leases.size(), 2u);
  submit("c", 5, 50);
  EXPECT_EQ(assigned("a").size(), 1u) << "a trial for any board passes the pinned ones";
}

TEST_F(BrokerTest, TrialsWithoutAnyBoardFailInTheEnd) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  for (int i = 0; i < 11; ++i) {
    beat("c", kClient);
    pass(milliseconds(100));
  }  // the board is gone
  submit("c", 5, 1);
  for (int i = 0; i < 49; ++i) {
    beat("c", kClient);
    pass(milliseconds(100));
  }
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
  for (int i = 0; i < 4; ++i) {
    beat("c", kClient);
    pass(milliseconds(100));
  }
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::DeviceLost);
}

TEST_F(BrokerTest, CancelDropsWhatWaitsAndLeavesWhatRuns) {
  agent("a", 1, "board", {}, 1);
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  submit("c", 5, 2);
  const auto leases = assigned("a");
  for (std::uint64_t trial : {1, 2}) {
    wire::CancelT cancel;
    cancel.session = 5;
    cancel.trial = trial;
    say("c", kClient, std::move(cancel));
  }
  auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].trial, 2u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::Canceled);
  done("a", leases.at(0), measured(1));
  completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].trial, 1u);
  EXPECT_TRUE(assigned("a").empty());
}

TEST_F(BrokerTest, ASilentClientsWorkIsDropped) {
  agent("a", 1, "board", {}, 1);
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  submit("c", 5, 2);
  const auto leases = assigned("a");
  for (int i = 0; i < 11; ++i) {
    beat("a", kAgent, leases);
    pass(milliseconds(100));
  }
  const auto releases = take<wire::ReleaseT>("a");
  ASSERT_GE(releases.size(), 1u);
  EXPECT_EQ(releases[0].lease, leases.at(0));
  EXPECT_EQ(core.device_list().keys.at(0)->pending, 0u);
  // The credit is in use until the agent lets go of the lease.
  client("d", 11);
  open("d", 6);
  submit("d", 6, 1);
  EXPECT_TRUE(assigned("a").empty());
  beat("a", kAgent, {});
  pass(milliseconds(200));
  beat("a", kAgent, {});
  EXPECT_EQ(assigned("a").size(), 1u);
}

TEST_F(BrokerTest, AClientThatDialsInAgainGetsWhatItMissed) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  submit("c", 5, 2);
  const auto leases = assigned("a");
  core.unreachable("c", now);
  done("a", leases.at(0), measured(1));  // nobody to tell
  client("c2", 10);
  open("c2", 5);
  submit("c2", 5, 1);
  submit("c2", 5, 2);
  auto completed = take<wire::CompletedT>("c2");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].trial, 1u);
  EXPECT_TRUE(assigned("a").empty()) << "the second is on its way: it is not measured twice";
  done("a", leases.at(1), measured(2));
  completed = take<wire::CompletedT>("c2");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].trial, 2u);
}

TEST_F(BrokerTest, TooManyInFlightFailByName) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  for (std::uint64_t i = 0; i < 51; ++i) submit("c", 5, i);
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].trial, 50u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::TooLarge);
}

TEST_F(BrokerTest, BlobsAreAskedForOnceAndSentOncePerBoard) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  const Bytes bytes(3000, 1);
  const auto hash = content_hash(bytes);
  for (std::uint64_t i = 0; i < 3; ++i) submit("c", 5, i, {hash});
  EXPECT_EQ(take<wire::BlobsWantedT>("c").size(), 1u);
  EXPECT_TRUE(assigned("a").empty());
  wire::PutBlobT put;
  put.hash = std::make_unique<wire::Hash>(hash);
  put.bytes = Bytes(3000, 2);  // not what the hash says
  say("c", kClient, std::move(put));
  EXPECT_TRUE(assigned("a").empty());
  put = {};
  put.hash = std::make_unique<wire::Hash>(hash);
  put.bytes = bytes;
  now += milliseconds(7);
  say("c", kClient, std::move(put));
  EXPECT_EQ(take<wire::PutBlobT>("a").size(), 1u);
  auto leases = assigned("a");
  EXPECT_EQ(leases.size(), 2u);
  done("a", leases.at(0), measured(1));
  EXPECT_EQ(take<wire::PutBlobT>("a").size(), 0u);
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(decode_outcome(completed[0].outcome)->times->upload_ns, 7'000'000u);
  // An agent that dropped it asks, or says so in its outcome; both get it again.
  wire::BlobsWantedT wanted;
  wanted.hashes = {hash};
  say("a", kAgent, std::move(wanted));
  EXPECT_EQ(take<wire::PutBlobT>("a").size(), 1u);
  wire::OutcomeT missing;
  missing.body.Set(make_failure(wire::Stage::Load, {ErrorCode::MissingBlob, "gone", {}}));
  leases = assigned("a");
  done("a", leases.at(0), missing);
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
  EXPECT_EQ(take<wire::PutBlobT>("a").size(), 1u);
  EXPECT_EQ(assigned("a").size(), 1u);
}

TEST_F(BrokerTest, AStoreFullOfNeededBlobsFailsTheNextTrial) {
  agent("a", 1, "board", {}, 1);
  client("c", 10);
  open("c", 5);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Bytes bytes(4000, static_cast<std::uint8_t>(i));
    submit("c", 5, i, {content_hash(bytes)});
    wire::PutBlobT put;
    put.hash = std::make_unique<wire::Hash>(content_hash(bytes));
    put.bytes = bytes;
    say("c", kClient, std::move(put));
  }
  auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 2u);  // 10,000 bytes hold two
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::TooLarge);
  // Once a trial is through, its blob may make room.
  const auto leases = assigned("a");
  done("a", leases.at(0), measured(1));
  take<wire::CompletedT>("c");
  const Bytes bytes(4000, 99);
  submit("c", 5, 10, {content_hash(bytes)});
  wire::PutBlobT put;
  put.hash = std::make_unique<wire::Hash>(content_hash(bytes));
  put.bytes = bytes;
  say("c", kClient, std::move(put));
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
}

TEST_F(BrokerTest, TellsHowLongATrialQueued) {
  agent("a", 1, "board", {}, 2);
  client("c", 10);
  open("c", 5);
  for (std::uint64_t i = 0; i < 3; ++i) submit("c", 5, i);
  auto leases = assigned("a");
  auto outcome = measured(1);
  outcome.times->total_ns = 9'000'000;
  now += milliseconds(10);
  done("a", leases.at(0), outcome);
  now += milliseconds(10);
  done("a", leases.at(1), outcome);
  leases = assigned("a");
  now += milliseconds(10);
  done("a", leases.at(0), outcome);
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 3u);
  const auto times = [&](std::size_t i) { return *decode_outcome(completed[i].outcome)->times; };
  EXPECT_EQ(times(0).queue_ns, 0u);
  EXPECT_EQ(times(0).upload_ns, 1'000'000u);
  EXPECT_EQ(times(1).queue_ns, 10'000'000u);  // behind the first, on the board
  EXPECT_EQ(times(1).upload_ns, 1'000'000u);
  EXPECT_EQ(times(2).queue_ns, 20'000'000u);  // 10 in the broker, 10 on the board
}

TEST_F(BrokerTest, SessionsLearnHowManyBoardsThereAre) {
  agent("a", 1, "board-1");
  client("c", 10);
  open("c", 5);
  EXPECT_EQ(take<wire::SessionOpenedT>("c").at(0).boards, 1u);
  agent("b", 2, "board-2");
  EXPECT_EQ(take<wire::SessionOpenedT>("c").at(0).boards, 2u);
  for (int i = 0; i < 11; ++i) {
    beat("c", kClient);
    beat("b", kAgent);
    pass(milliseconds(100));
  }
  EXPECT_EQ(take<wire::SessionOpenedT>("c").at(0).boards, 1u);
}

TEST_F(BrokerTest, ARevokedKeysPeersAreDropped) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto leases = assigned("a");
  core.recheck([](const Permission& who) { return who.role == wire::Role::Agent; }, now);
  collect();
  EXPECT_EQ(take<wire::ReleaseT>("a").size(), 1u);
  submit("c", 5, 2);
  EXPECT_EQ(take<wire::HelloNeededT>("c").size(), 1u);
}

// A fleet in chaos: agents die, dial in again, answer late, twice or not at all;
// clients reconnect. Whatever happens: credits hold, and each trial ends once.
TEST_F(BrokerTest, ChaosLosesNothingAndCountsNothingTwice) {
  const std::uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
  struct Fake {
    std::uint64_t instance;
    PeerId peer;
    std::vector<LeaseId> held, old;
  };
  std::vector<Fake> fakes(5);
  std::uint64_t next_instance = 1;
  int next_peer = 0;
  const auto dial = [&](std::size_t i) {
    fakes[i].peer = "a" + std::to_string(next_peer++);
    agent(fakes[i].peer, fakes[i].instance, "board-" + std::to_string(i), fakes[i].held);
  };
  for (std::size_t i = 0; i < fakes.size(); ++i) {
    fakes[i].instance = next_instance++;
    dial(i);
  }
  PeerId peer = "c0";
  client(peer, 10);
  open(peer, 5);
  std::set<std::uint64_t> in_flight;
  std::map<std::uint64_t, int> ended;
  std::uint64_t next_trial = 0;
  for (int step = 0; step < 6000; ++step) {
    const bool winding_down = step >= 5000;
    if (!winding_down && in_flight.size() < 40 && chance(60)) {
      in_flight.insert(next_trial);
      submit(peer, 5, next_trial++);
    }
    if (!winding_down && chance(1)) {  // the client's connection breaks
      core.unreachable(peer, now);
      peer = "c" + std::to_string(step);
      client(peer, 10);
      open(peer, 5);
      for (std::uint64_t trial : in_flight) submit(peer, 5, trial);
    }
    for (std::size_t i = 0; i < fakes.size(); ++i) {
      Fake& fake = fakes[i];
      for (const auto& assign : take<wire::AssignT>(fake.peer)) fake.held.push_back(assign.lease);
      for (const auto& release : take<wire::ReleaseT>(fake.peer))
        std::erase(fake.held, release.lease);
      ASSERT_LE(fake.held.size(), 2u) << "credits exceeded in step " << step;
      if (!take<wire::HelloNeededT>(fake.peer).empty()) dial(i);
      if (chance(50) && !fake.held.empty()) {
        const LeaseId lease = fake.held.front();
        fake.held.erase(fake.held.begin());
        fake.old.push_back(lease);
        done(fake.peer, lease, measured(1));
      }
      if (chance(5) && !fake.old.empty()) done(fake.peer, fake.old.back(), measured(2));
      if (!winding_down && chance(1)) {  // dies and starts anew
        fake.instance = next_instance++;
        fake.old.insert(fake.old.end(), fake.held.begin(), fake.held.end());
        fake.held.clear();
        if (chance(50)) core.unreachable(fake.peer, now);
        dial(i);
      } else if (!winding_down && chance(1)) {  // only its connection breaks
        dial(i);
      }
      if (chance(30)) beat(fake.peer, kAgent, fake.held);
    }
    if (chance(50)) beat(peer, kClient);
    if (chance(40)) pass(milliseconds(20));
    for (const auto& completed : take<wire::CompletedT>(peer)) {
      ++ended[completed.trial];
      EXPECT_EQ(in_flight.erase(completed.trial), 1u)
          << "trial " << completed.trial << " ended twice";
      const ErrorCode code = failure_of(completed);
      EXPECT_TRUE(code == ErrorCode::Internal || code == ErrorCode::DeviceLost) << name_of(code);
    }
  }
  EXPECT_TRUE(in_flight.empty()) << in_flight.size() << " trials never ended";
  EXPECT_EQ(ended.size(), next_trial);
  std::printf("%llu trials, %llu requeued, %llu lost, %llu stale results dropped\n",
              static_cast<unsigned long long>(next_trial),
              static_cast<unsigned long long>(core.counters().requeued.load()),
              static_cast<unsigned long long>(core.counters().device_lost.load()),
              static_cast<unsigned long long>(core.counters().stale_results.load()));
  EXPECT_GT(core.counters().requeued.load(), 0u);
}

}  // namespace
}  // namespace fettle::fleet
