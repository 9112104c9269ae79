// The client's state machine with times of our own making.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "host/fleet/session_core.h"
#include "schemas/wire/content_hash.h"
#include "tests/fault/fleet_peers.h"

namespace fettle::fleet {
namespace {

class SessionTest : public ::testing::Test {
 protected:
  static SessionPlan plan() {
    SessionPlan plan;
    plan.device_key = "pynq";
    plan.where = "tcp://broker:1";
    plan.public_key = "client-key";
    plan.answer_within = milliseconds(3000);
    plan.away_at_most = milliseconds(20'000);
    plan.window = 4;
    return plan;
  }
  TimePoint now = TimePoint() + std::chrono::hours(1);
  SessionCore core{plan(), 11, 22, now};
  SessionCore* hears = &core;

  template <typename BodyT>
  void hear(BodyT body) {
    hears->receive(encode(message_of(std::move(body))), now);
  }

  std::vector<wire::MessageT> said() {
    std::vector<wire::MessageT> all;
    for (auto& outgoing : core.take_outgoing()) {
      auto message = decode_message(*outgoing.bytes);
      EXPECT_TRUE(message.ok());
      all.push_back(std::move(*message));
    }
    return all;
  }
  std::vector<wire::Body> kinds() {
    std::vector<wire::Body> all;
    for (const auto& message : said()) all.push_back(message.body.type);
    return all;
  }
  void welcome(std::uint64_t broker) {
    wire::WelcomeT welcome;
    welcome.broker_instance = broker;
    welcome.heartbeat_ms = 1000;
    welcome.silence_ms = 5000;
    hear(std::move(welcome));
  }
  void opened(std::uint32_t boards = 1) {
    wire::SessionOpenedT opened;
    opened.session = 22;
    opened.boards = boards;
    opened.device = std::make_unique<wire::DeviceInfoT>();
    opened.device->key = "pynq";
    opened.board = std::make_unique<wire::BoardT>();
    opened.board->id = "board";
    hear(std::move(opened));
  }
  void refused(ErrorCode code) {
    wire::SessionOpenedT opened;
    opened.session = 22;
    opened.error = std::make_unique<wire::ErrorT>(to_wire({code, "no board", {}}));
    hear(std::move(opened));
  }
  void completed(std::uint64_t trial, Bytes outcome) {
    wire::CompletedT completed;
    completed.session = 22;
    completed.trial = trial;
    completed.attempt = 1;
    completed.outcome = std::move(outcome);
    hear(std::move(completed));
  }
  void open_all() {
    welcome(7);
    opened();
    said();
  }
  void submit(std::uint64_t trial) { core.submit(trial, encode(small_request()), {}); }
};

using wire::Body;

// Else none of its requests would wait where a place becomes free, and others' would.
TEST_F(SessionTest, OneMoreRequestWaitsForABoardThatIsShared) {
  SessionPlan first = plan();
  first.shares = true;
  SessionCore sharing{first, 11, 22, now};
  hears = &sharing;
  open_all();
  EXPECT_EQ(sharing.capacity(), 3u);
}

TEST_F(SessionTest, IsNotReachableWhileItsBrokerIsSilent) {
  EXPECT_FALSE(core.reachable());
  open_all();
  EXPECT_TRUE(core.reachable());
  now += milliseconds(6000);
  core.tick(now);
  EXPECT_FALSE(core.reachable());
  welcome(7);
  refused(ErrorCode::NotFound);
  EXPECT_TRUE(core.reachable()) << "though no board has come back";
  now += milliseconds(1000);
  core.tick(now);
  EXPECT_TRUE(core.reachable()) << "and while it is asked again";
  opened();
  EXPECT_TRUE(core.reachable());
}

TEST_F(SessionTest, OpensStepByStep) {
  EXPECT_EQ(kinds(), std::vector<Body>{Body::Hello});
  submit(1);
  EXPECT_TRUE(kinds().empty()) << "nothing is submitted before the session is open";
  welcome(7);
  EXPECT_EQ(kinds(), std::vector<Body>{Body::OpenSession});
  EXPECT_FALSE(core.opened());
  opened(3);
  EXPECT_TRUE(core.opened());
  EXPECT_EQ(core.capacity(), 6u);  // three boards, two deep
  EXPECT_EQ(kinds(), std::vector<Body>{Body::Submit});
}

// Its own words and the broker's answers to them are behind the blob.
TEST_F(SessionTest, IsPatientWhileABlobIsOnItsWay) {
  const Bytes bytes(1 << 20, 7);
  const wire::Hash hash = content_hash(bytes);
  core.offer_blob(hash, bytes);
  open_all();
  core.submit(1, encode(request_with_blob(hash)), {hash});
  wire::BlobsWantedT wanted;
  wanted.hashes = {hash};
  hear(wanted);
  EXPECT_EQ(kinds(), (std::vector<Body>{Body::Submit, Body::PutBlob}));
  now += milliseconds(7000);  // 150 KiB/s
  core.tick(now);
  EXPECT_EQ(kinds(), std::vector<Body>{Body::Heartbeat});
  now += milliseconds(2000);
  core.tick(now);
  EXPECT_EQ(kinds(), std::vector<Body>{Body::Hello}) << "it never arrived";
}

TEST_F(SessionTest, ABlobThatNeverArrivesIsAnError) {
  const Bytes bytes(1 << 20, 7);
  const wire::Hash hash = content_hash(bytes);
  core.offer_blob(hash, bytes);
  open_all();
  core.submit(1, encode(request_with_blob(hash)), {hash});
  wire::BlobsWantedT wanted;
  wanted.hashes = {hash};
  for (int i = 0; i < 10; ++i) hear(wanted);
  EXPECT_FALSE(core.error());
  hear(wanted);
  ASSERT_TRUE(core.error());
  EXPECT_EQ(core.error()->code, ErrorCode::Timeout);
  EXPECT_NE(core.error()->message.find("11th time"), std::string::npos) << core.error()->text();
}

// A night's programs would fill the host's memory.
TEST_F(SessionTest, AnImageIsForgottenWithTheLastTrialThatNamesIt) {
  const Bytes bytes(1 << 20, 7), kept(1 << 20, 8);
  const wire::Hash image = content_hash(bytes), weights = content_hash(kept);
  open_all();
  core.offer_blob(weights, kept);
  core.offer_image(weights, kept);
  for (const std::uint64_t trial : {1, 2}) {
    core.offer_image(image, bytes);
    core.submit(trial, encode(request_with_blob(image)), {image, weights});
  }
  wire::BlobsWantedT wanted;
  wanted.hashes = {image};
  completed(1, encode(measured(1)));
  kinds();
  hear(wanted);
  EXPECT_EQ(kinds(), std::vector<Body>{Body::PutBlob}) << "the second trial names it, too";
  completed(2, encode(measured(1)));
  hear(wanted);
  EXPECT_TRUE(kinds().empty());
  wanted.hashes = {weights};
  hear(wanted);
  EXPECT_EQ(kinds(), std::vector<Body>{Body::PutBlob}) << "offered for good";
  core.submit(3, encode(request_with_blob(image)), {image});
  const auto refused = core.take_results();
  ASSERT_EQ(refused.size(), 3u);
  EXPECT_EQ(refused[2].outcome.body.AsFailure()->error->code, ErrorCode::MissingBlob);
}

TEST_F(SessionTest, KeepsToItsWindow) {
  open_all();
  for (std::uint64_t i = 0; i < 10; ++i) submit(i);
  EXPECT_EQ(said().size(), 4u);
  completed(0, encode(measured(1)));
  EXPECT_EQ(said().size(), 1u);
  EXPECT_EQ(core.in_flight(), 9u);
}

TEST_F(SessionTest, AResultCountsOnceAndOnlyIfAskedFor) {
  open_all();
  submit(1);
  completed(1, encode(measured(1)));
  completed(1, encode(measured(2)));
  completed(9, encode(measured(3)));
  const auto results = core.take_results();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].outcome.body.AsMeasurement()->median, 1);
}

// Also to a broker that was restarted meanwhile.
TEST_F(SessionTest, ARequestForOneBoardNamesIt) {
  open_all();
  core.submit(1, encode(small_request()), {}, "board-7");
  submit(2);
  for (int round = 0; round < 2; ++round) {
    const auto sent = said();
    ASSERT_EQ(sent.size(), 2u);
    EXPECT_EQ(sent[0].body.AsSubmit()->board_id, "board-7");
    EXPECT_EQ(sent[1].body.AsSubmit()->board_id, "");
    if (round == 1) break;
    wire::HelloNeededT forgotten;
    hear(std::move(forgotten));
    welcome(8);
    said();
    opened();
  }
}

TEST_F(SessionTest, AMalformedOutcomeIsThatTrialsFailure) {
  open_all();
  submit(1);
  auto outcome = measured(1);
  outcome.body.AsMeasurement()->samples.clear();  // verifies, but cannot be
  completed(1, encode(outcome));
  const auto results = core.take_results();
  ASSERT_EQ(results.size(), 1u);
  ASSERT_NE(results[0].outcome.body.AsFailure(), nullptr);
  EXPECT_EQ(results[0].outcome.body.AsFailure()->error->code, ErrorCode::Malformed);
}

TEST_F(SessionTest, ARestartedBrokerGetsEverythingAgain) {
  open_all();
  for (std::uint64_t i = 0; i < 3; ++i) submit(i);
  completed(1, encode(measured(1)));
  said();
  hear(wire::HelloNeededT{});
  EXPECT_EQ(kinds(), std::vector<Body>{Body::Hello});
  welcome(8);
  EXPECT_EQ(kinds(), std::vector<Body>{Body::OpenSession});
  refused(ErrorCode::NotFound);  // the boards have not dialled in yet
  EXPECT_FALSE(core.error());
  now += milliseconds(1001);
  core.tick(now);
  EXPECT_EQ(kinds(), std::vector<Body>{Body::OpenSession});
  opened();
  std::vector<std::uint64_t> trials;
  for (const auto& message : said()) trials.push_back(message.body.AsSubmit()->trial);
  EXPECT_EQ(trials, (std::vector<std::uint64_t>{0, 2}));
}

TEST_F(SessionTest, AnotherInstanceInAHeartbeatIsARestart) {
  open_all();
  wire::HeartbeatT same, other;
  same.instance = 7;
  other.instance = 8;
  hear(std::move(same));
  EXPECT_TRUE(kinds().empty());
  hear(std::move(other));
  EXPECT_EQ(kinds(), std::vector<Body>{Body::Hello});
}

TEST_F(SessionTest, NoFirstAnswerIsUnreachable) {
  for (int i = 0; i < 31 && !core.error(); ++i) {
    now += milliseconds(100);
    core.tick(now);
  }
  ASSERT_TRUE(core.error());
  EXPECT_EQ(core.error()->code, ErrorCode::Unreachable);
  EXPECT_NE(core.error()->message.find("tcp://broker:1 within 3 s"), std::string::npos);
  EXPECT_NE(core.error()->message.find(allow_command("client-key")), std::string::npos)
      << core.error()->message;
}

TEST_F(SessionTest, ABrokerThatComesBackInTimeIsForgiven) {
  open_all();
  submit(1);
  said();
  for (int i = 0; i < 150; ++i) {  // 15 s of silence
    now += milliseconds(100);
    core.tick(now);
  }
  EXPECT_FALSE(core.error());
  said();
  welcome(9);
  opened();
  EXPECT_EQ(kinds(), (std::vector<Body>{Body::OpenSession, Body::Submit}));
  for (int i = 0; i < 251 && !core.error(); ++i) {  // 5 s to notice, 20 s to wait
    now += milliseconds(100);
    core.tick(now);
  }
  ASSERT_TRUE(core.error());
  EXPECT_EQ(core.error()->code, ErrorCode::Unreachable);
}

TEST_F(SessionTest, BeatsWhileItIsOpen) {
  open_all();
  int beats = 0;
  for (int i = 0; i < 100; ++i) {
    now += milliseconds(100);
    wire::HeartbeatT echo;
    echo.instance = 7;
    hear(std::move(echo));
    core.tick(now);
    for (Body kind : kinds()) beats += kind == Body::Heartbeat;
  }
  EXPECT_GE(beats, 9);
  EXPECT_LE(beats, 11);
}

TEST_F(SessionTest, AFirstRefusalAndARejectEndIt) {
  welcome(7);
  refused(ErrorCode::NotFound);
  ASSERT_TRUE(core.error());
  EXPECT_EQ(core.error()->code, ErrorCode::NotFound);

  SessionCore other(plan(), 11, 22, now);
  wire::RejectT reject;
  reject.error = std::make_unique<wire::ErrorT>(to_wire({ErrorCode::VersionMismatch, "old", {}}));
  other.receive(encode(message_of(std::move(reject))), now);
  ASSERT_TRUE(other.error());
  EXPECT_EQ(other.error()->code, ErrorCode::VersionMismatch);
}

TEST_F(SessionTest, SendsABlobWhenItIsAskedFor) {
  open_all();
  const Bytes bytes = {1, 2, 3};
  const auto hash = content_hash(bytes);
  core.offer_blob(hash, bytes);
  core.submit(1, encode(request_with_blob(hash)), {hash});
  const auto submits = said();
  ASSERT_EQ(submits.size(), 1u);
  EXPECT_EQ(submits[0].body.AsSubmit()->blobs.size(), 1u);
  wire::BlobsWantedT wanted;
  wanted.hashes = {hash, content_hash(Bytes{9})};
  hear(std::move(wanted));
  const auto blobs = said();
  ASSERT_EQ(blobs.size(), 1u);
  EXPECT_EQ(blobs[0].body.AsPutBlob()->bytes, bytes);
}

TEST_F(SessionTest, ALargeBlobGoesInPieces) {
  open_all();
  const Bytes bytes((5 << 19) + 1, 3);
  const auto hash = content_hash(bytes);
  core.offer_blob(hash, bytes);
  core.submit(1, encode(request_with_blob(hash)), {hash});
  said();
  wire::BlobsWantedT wanted;
  wanted.hashes = {hash};
  hear(std::move(wanted));
  Bytes sent;
  const auto messages = said();
  EXPECT_EQ(messages.size(), 3u);
  for (const auto& message : messages) {
    EXPECT_LT(encode(message).size(), limits::kSocketBytes);
    const auto& piece = *message.body.AsPutBlob();
    EXPECT_EQ(piece.offset, sent.size());
    sent.insert(sent.end(), piece.bytes.begin(), piece.bytes.end());
  }
  EXPECT_EQ(sent, bytes);
}

TEST_F(SessionTest, ARequestThatNoMessageHoldsIsAFailure) {
  open_all();
  core.submit(1, Bytes(limits::kRequestBytes + 1), {});
  EXPECT_TRUE(kinds().empty());
  const auto results = core.take_results();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].outcome.body.AsFailure()->error->code, ErrorCode::TooLarge);
}

TEST_F(SessionTest, CancelKeepsWhatABoardStillAnswers) {
  open_all();
  for (std::uint64_t i = 0; i < 6; ++i) submit(i);
  said();
  core.cancel_pending();
  EXPECT_EQ(kinds(), std::vector<Body>(4, Body::Cancel));  // the window; the rest never left
  completed(0, encode(measured(1)));                       // a board had it
  wire::OutcomeT canceled;
  canceled.body.Set(make_failure(wire::Stage::Dispatch, {ErrorCode::Canceled, "", {}}));
  completed(1, encode(canceled));
  const auto results = core.take_results();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].trial, 0u);
  EXPECT_EQ(core.in_flight(), 2u);
}

}  // namespace
}  // namespace fettle::fleet
