// Who may speak to the broker, and what it does with noise.
#include "schemas/wire/content_hash.h"
#include "tests/unit/broker_fixture.h"

namespace fettle::fleet {
namespace {

// Found by the fleet's simulator: a key was off the list for so short a time that no recheck saw
// it, the submit that came meanwhile was not taken, and its client waited for ever.
TEST_F(BrokerTest, AMessageThatWasNotTakenEndsItsPeersSessions) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  EXPECT_EQ(assigned("a").size(), 1u);
  core.refused("c", now);
  collect();
  EXPECT_EQ(take<wire::ReleaseT>("a").size(), 1u) << "its trials end";
  beat("c", kClient);
  EXPECT_EQ(take<wire::HelloNeededT>("c").size(), 1u) << "so that it opens and submits again";
  core.refused("a", now);
  collect();
  beat("a", kAgent);
  EXPECT_EQ(take<wire::HelloNeededT>("a").size(), 1u);
  core.refused("nobody", now);
}

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
  EXPECT_NE(rejects[0].error->message.find("`fettle keys allow " + kClient.name + " '" +
                                           kClient.public_key + "' --role agent`"),
            std::string::npos)
      << rejects[0].error->message;
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

// A peer chooses its connection's name (ZeroMQ's routing id) itself.
TEST_F(BrokerTest, AConnectionsNameUnderAnotherKeyIsANewPeer) {
  client("same", 10);
  agent("same", 1, "board");
  EXPECT_EQ(take<wire::WelcomeT>("same").size(), 2u);
  client("c", 11);
  open("c", 5);
  submit("c", 5, 1);
  EXPECT_EQ(assigned("same").size(), 1u);
  client("same", 12, kOther);
  EXPECT_EQ(take<wire::WelcomeT>("same").size(), 1u);
  client("same", 13);  // of the same role, but another's
  EXPECT_EQ(take<wire::WelcomeT>("same").size(), 1u);
  pass(times.silence);  // all are given up, none twice
  client("same", 13);
  EXPECT_EQ(take<wire::WelcomeT>("same").size(), 1u);
}

TEST_F(BrokerTest, MalformedBytesAreRejectedAndHarmless) {
  core.receive("c", kClient, Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9}, now);
  collect();
  EXPECT_EQ(take<wire::RejectT>("c").size(), 1u);
  EXPECT_EQ(core.counters().malformed.load(), 1u);
  agent("a", 1, "");  // a board without an id
  EXPECT_EQ(take<wire::RejectT>("a").size(), 1u);
}

// A large blob on a slow link: its client's heartbeats are behind it.
TEST_F(BrokerTest, AClientThatUploadsIsNotSilent) {
  const Bytes bytes(1000, 7);
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1, {content_hash(bytes)});
  ASSERT_EQ(take<wire::BlobsWantedT>("c").size(), 1u);
  for (int i = 0; i < 30; ++i) {
    pass(milliseconds(100));
    beat("a", kAgent);
  }
  wire::PutBlobT put;
  put.hash = std::make_unique<wire::Hash>(content_hash(bytes));
  put.bytes = bytes;
  say("c", kClient, std::move(put));
  EXPECT_EQ(take<wire::HelloNeededT>("c").size(), 0u);
  EXPECT_EQ(assigned("a").size(), 1u);
  pass(times.silence);
  beat("c", kClient);
  EXPECT_EQ(take<wire::HelloNeededT>("c").size(), 1u) << "it owes no blob any more";
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

}  // namespace
}  // namespace fettle::fleet
