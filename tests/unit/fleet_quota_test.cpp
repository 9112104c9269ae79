// What one client key may take of the broker: blobs, requests, outcomes, connections.
#include <set>

#include "schemas/wire/content_hash.h"
#include "tests/unit/trust_fixture.h"

namespace fettle::fleet {
namespace {

class TrustQuota : public Trust {
 protected:
  static BrokerLimits small() {
    BrokerLimits limits = BrokerTest::limits();
    limits.request_bytes = 20'000;
    limits.completed_bytes = 5'000;
    limits.clients = 4;
    return limits;
  }
  TrustQuota() { core_ = std::make_unique<BrokerCore>(78, times, small()); }
  std::unique_ptr<BrokerCore> core_;  // with less of everything

  template <typename BodyT>
  void tell(const PeerId& from, const Permission& who, BodyT body) {
    core_->receive(from, who, encode(message_of(std::move(body))), now);
    for (auto& outgoing : core_->take_outgoing()) {
      heard[outgoing.to].push_back(std::move(*decode_message(*outgoing.bytes)));
    }
  }
};

wire::PutBlobT whole_blob(const Bytes& bytes) {
  wire::PutBlobT put;
  put.hash = std::make_unique<wire::Hash>(content_hash(bytes));
  put.bytes = bytes;
  return put;
}

// The store (10,000 bytes) is full of what one client's requests need, and stays so.
TEST_F(Trust, PinnedBlobStarvation) {
  agent("a", 1, "board", {}, 1);
  client("c", 10);
  client("d", 11, kOther);
  open("c", 5);
  open("d", 6, 0, kOther);
  submit("c", 5, 1);  // keeps the board busy
  const auto busy = assigned("a");
  ASSERT_EQ(busy.size(), 1u);
  std::vector<Bytes> pinned;
  for (std::uint8_t i = 0; i < 4; ++i) pinned.emplace_back(2300, i);
  for (std::size_t i = 0; i < pinned.size(); ++i) {
    submit("c", 5, 10 + i, {content_hash(pinned[i])});
    say("c", kClient, whole_blob(pinned[i]));
  }
  // One that waits for a second blob, which never comes.
  submit("c", 5, 20, {content_hash(pinned[0]), content_hash(Bytes{1})});
  EXPECT_TRUE(take<wire::CompletedT>("c").empty()) << "all of them fit";
  take<wire::BlobsWantedT>("c");

  const Bytes mine(3000, 99);
  submit("d", 6, 1, {content_hash(mine)}, "", kOther);
  say("d", kOther, whole_blob(mine));
  EXPECT_TRUE(take<wire::CompletedT>("d").empty()) << "another client's blob found no room";
  // The client whose blobs made room is asked for them again, the one used longest ago first.
  const auto wanted = take<wire::BlobsWantedT>("c");
  ASSERT_FALSE(wanted.empty());
  EXPECT_EQ(std::memcmp(&wanted[0].hashes.at(0), whole_blob(pinned[0]).hash.get(), 32), 0);
  // It is over its share still: its trials fail, and the other's has a board.
  for (const Bytes& bytes : {pinned[0], pinned[1]}) say("c", kClient, whole_blob(bytes));
  const auto failed = take<wire::CompletedT>("c");
  ASSERT_GE(failed.size(), 1u);
  EXPECT_EQ(failure_of(failed[0]), ErrorCode::TooLarge);
  done("a", busy[0], measured(1));
  std::set<PeerId> completed;
  for (int i = 0; i < 5; ++i) {
    for (LeaseId lease : assigned("a")) done("a", lease, measured(1));
    if (!take<wire::CompletedT>("d").empty()) completed.insert("d");
  }
  EXPECT_EQ(completed.count("d"), 1u);
}

TEST_F(Trust, PinsOfTrialsThatWaitForEverExpire) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  const Bytes held(9000, 1);
  submit("c", 5, 1, {content_hash(held), content_hash(Bytes{1})});
  say("c", kClient, whole_blob(held));
  for (int i = 0; i < 2 * 599; ++i) {
    beat("a", kAgent);
    beat("c", kClient);
    pass(milliseconds(500));
  }
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
  for (int i = 0; i < 4; ++i) {
    beat("a", kAgent);
    beat("c", kClient);
    pass(milliseconds(500));
  }
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::Timeout);
  const Bytes other(9000, 2);  // the same client's: nothing is pinned any more
  submit("c", 5, 2, {content_hash(other)});
  say("c", kClient, whole_blob(other));
  EXPECT_EQ(assigned("a").size(), 1u);
}

// Bytes of requests that wait, of outcomes that are kept, and connections: of one key, however
// many sessions it has.
TEST_F(TrustQuota, OneKeysBytesAreBounded) {
  tell("a", kAgent, agent_hello(1, "board", "pynq", 64));
  const auto hello = [](std::uint64_t instance) {
    wire::HelloT hello;
    hello.protocol_version = limits::kProtocolVersion;
    hello.instance = instance;
    return hello;
  };
  const auto submit_large = [&](const PeerId& peer, const Permission& who, std::uint64_t session,
                                std::uint64_t trial) {
    auto request = small_request();
    request.program->images[0]->bytes = Bytes(5000, 1);
    wire::SubmitT message;
    message.session = session;
    message.trial = trial;
    message.request = encode(request);
    tell(peer, who, std::move(message));
  };
  for (std::uint64_t i = 0; i < 2; ++i) {
    const PeerId peer = "c" + std::to_string(i);
    tell(peer, kClient, hello(10 + i));
    wire::OpenSessionT open;
    open.session = 5;
    open.device_key = "pynq";
    tell(peer, kClient, std::move(open));
    for (std::uint64_t trial = 0; trial < 5; ++trial) submit_large(peer, kClient, 5, trial);
  }
  EXPECT_LE(core_->usage().at(0).request_bytes, 20'000u);
  std::size_t refused = 0;
  for (const PeerId peer : {"c0", "c1"}) {
    for (const auto& completed : take<wire::CompletedT>(peer)) {
      EXPECT_EQ(failure_of(completed), ErrorCode::TooLarge);
      ++refused;
    }
  }
  EXPECT_EQ(refused, 7u) << "three of ten fit";
  // What it has does not count against another.
  tell("d", kOther, hello(20));
  wire::OpenSessionT open;
  open.session = 6;
  open.device_key = "pynq";
  tell("d", kOther, std::move(open));
  submit_large("d", kOther, 6, 1);
  EXPECT_TRUE(take<wire::CompletedT>("d").empty());
  // Outcomes are kept up to a bound; what has ended is not charged any more.
  for (const auto& assign : take<wire::AssignT>("a")) {
    auto outcome = measured(1);
    outcome.body.AsMeasurement()->launch_ticks.assign(400, 1.0);
    wire::DoneT done;
    done.lease = assign.lease;
    done.outcome = encode(outcome);
    tell("a", kAgent, std::move(done));
  }
  for (const auto& usage : core_->usage()) {
    EXPECT_EQ(usage.request_bytes, 0u) << usage.name;
    EXPECT_LE(usage.completed_bytes, 5000u) << usage.name;
    EXPECT_GT(usage.completed_bytes, 0u) << usage.name;
  }
  // Connections: idle ones make room, those with sessions do not.
  for (std::uint64_t i = 0; i < 20; ++i) tell("i" + std::to_string(i), kClient, hello(100 + i));
  for (const auto& usage : core_->usage()) EXPECT_LE(usage.connections, 4u);
  EXPECT_EQ(take<wire::RejectT>("i19").size(), 0u);
  EXPECT_FALSE(core_->take_events().empty());
}

}  // namespace
}  // namespace fettle::fleet
