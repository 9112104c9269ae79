// The client's state machine with times of our own making, and keys and allow
// lists on a real file system.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
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

  template <typename BodyT>
  void hear(BodyT body) {
    core.receive(encode(message_of(std::move(body))), now);
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

TEST(Images, AreTakenOutAsBlobs) {
  auto request = small_request(1);
  const Bytes image(300, 7);
  request.program->images[0]->bytes = image;
  request.program->images[0]->blob.reset();
  const auto images = take_images_out(request);
  ASSERT_EQ(images.size(), 1u);
  EXPECT_EQ(images[0], image);
  EXPECT_TRUE(decode_request(encode(request)).ok());
  const auto blobs = blobs_of(request);
  ASSERT_EQ(blobs.size(), 1u);
  EXPECT_EQ(to_hex(blobs[0]), to_hex(content_hash(image)));
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

TEST(Requests, NameTheirBlobs) {
  auto request = request_with_blob(content_hash(Bytes{1}));
  request.program->buffers[0]->fill = std::make_unique<wire::FillT>();
  request.program->buffers[0]->fill->kind = wire::FillKind::Blob;
  request.program->buffers[0]->fill->blob = std::make_unique<wire::Hash>(content_hash(Bytes{2}));
  request.program->images[0]->blob = std::make_unique<wire::Hash>(content_hash(Bytes{1}));
  EXPECT_EQ(blobs_of(request).size(), 2u);
}

class Keys : public ::testing::Test {
 protected:
  std::filesystem::path home =
      std::filesystem::path(::testing::TempDir()) / ("fettle-keys-" + std::to_string(::getpid()));
  KeyFolder folder{home};
  void TearDown() override { std::filesystem::remove_all(home); }
};

TEST_F(Keys, AreMadeStoredAndReadBack) {
  auto made = folder.create("board-7");
  ASSERT_TRUE(made.ok()) << made.error().text();
  auto loaded = folder.load("board-7");
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_EQ(made->public_key, loaded->public_key);
  EXPECT_EQ(made->secret_key, loaded->secret_key);
  EXPECT_EQ(*public_key_of(made->secret_key), made->public_key);
  struct stat status{};
  ASSERT_EQ(::stat(folder.key_file("board-7").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(home.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  auto again = folder.create("board-7");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(again.error().message.find(allow_command(made->public_key)), std::string::npos)
      << again.error().message;
  EXPECT_EQ(again.error().message.find(made->secret_key), std::string::npos);
  std::ofstream(folder.key_file("cut")) << "public ";
  ::chmod(folder.key_file("cut").c_str(), 0600);
  auto cut = folder.create("cut");
  ASSERT_FALSE(cut.ok()) << "it could be a key that is in use";
  EXPECT_NE(cut.error().message.find("holds no valid key pair"), std::string::npos);
  std::filesystem::remove(folder.key_file("cut"));
  const auto all = folder.list();
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->at(0).public_key, made->public_key);
}

TEST_F(Keys, TellWhatIsWrongWithoutTellingTheSecret) {
  auto absent = folder.load("client");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::NotFound);
  EXPECT_NE(absent.error().message.find("fettle keys new client"), std::string::npos);
  EXPECT_FALSE(folder.create("../escape").ok());
  EXPECT_FALSE(folder.create("").ok());
  auto made = folder.create("client");
  ASSERT_TRUE(made.ok());
  ::chmod(folder.key_file("client").c_str(), 0644);
  auto open = folder.load("client");
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, ErrorCode::Unauthorized);
  EXPECT_NE(open.error().message.find("chmod 600"), std::string::npos);
  ::chmod(folder.key_file("client").c_str(), 0600);
  std::ofstream(folder.key_file("client"))
      << "public " << make_key_pair()->public_key << "\nsecret " << made->secret_key << "\n";
  auto mixed = folder.load("client");
  ASSERT_FALSE(mixed.ok());
  EXPECT_EQ(mixed.error().code, ErrorCode::Malformed);
  EXPECT_EQ(mixed.error().text().find(made->secret_key), std::string::npos);
  for (const char* text : {"", "short", "not z85 not z85 not z85 not z85 not z85 "}) {
    EXPECT_FALSE(check_public_key(text).ok()) << text;
    EXPECT_FALSE(public_key_of(text).ok()) << text;
  }
}

TEST_F(Keys, TheAllowListIsEditedByName) {
  const auto file = folder.allow_file();
  const auto one = make_key_pair()->public_key, two = make_key_pair()->public_key;
  EXPECT_TRUE(load_allow_list(file)->empty());
  ASSERT_TRUE(allow_key(file, {"laptop", wire::Role::Client, one}).ok());
  ASSERT_TRUE(allow_key(file, {"pynq-1", wire::Role::Agent, two}).ok());
  EXPECT_FALSE(allow_key(file, {"again", wire::Role::Client, one}).ok());
  const auto taken = allow_key(file, {"pynq-1", wire::Role::Agent, make_key_pair()->public_key});
  ASSERT_FALSE(taken.ok()) << "another board would be locked out";
  EXPECT_NE(taken.error().message.find("fettle keys revoke pynq-1"), std::string::npos);
  EXPECT_TRUE(allow_key(file, {"pynq-1", wire::Role::Agent, two}).ok()) << "as it is there";
  EXPECT_FALSE(allow_key(file, {"bad", wire::Role::Client, "zzz"}).ok());
  EXPECT_FALSE(allow_key(file, {"a b", wire::Role::Client, make_key_pair()->public_key}).ok());
  AllowList list;
  ASSERT_TRUE(list.reload(file).ok());
  const auto first = list.version();
  EXPECT_GT(first, 0u);
  ASSERT_TRUE(list.reload(file).ok());
  EXPECT_EQ(list.version(), first) << "unchanged";
  EXPECT_EQ(list.find(two)->role, wire::Role::Agent);
  auto unknown = revoke_key(file, "pynq-2");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("laptop, pynq-1"), std::string::npos);
  ASSERT_TRUE(revoke_key(file, "pynq-1").ok());
  ASSERT_TRUE(list.reload(file).ok());
  EXPECT_NE(list.version(), first);
  EXPECT_FALSE(list.find(two));
  EXPECT_TRUE(list.find(one));
  // A wrong file changes nothing and is told once.
  std::ofstream(file) << "client laptop\n";
  EXPECT_FALSE(list.reload(file).ok());
  EXPECT_TRUE(list.find(one));
  EXPECT_TRUE(list.reload(file).ok());
}

TEST_F(Keys, ARoleChangesOnlyWhenOneIsNamed) {
  const auto file = folder.allow_file();
  const auto key = make_key_pair()->public_key, other = make_key_pair()->public_key;
  const auto role = [&] { return load_allow_list(file)->at(0).role; };
  const auto fresh = allow_key(file, "pynq-1", key, std::nullopt);
  ASSERT_TRUE(fresh.ok()) << fresh.error().text();
  EXPECT_EQ(fresh->role, wire::Role::Client);
  EXPECT_FALSE(fresh->before);
  const auto changed = allow_key(file, "pynq-1", key, wire::Role::Agent);
  ASSERT_TRUE(changed.ok()) << changed.error().text();
  EXPECT_EQ(changed->role, wire::Role::Agent);
  EXPECT_EQ(changed->before, wire::Role::Client);
  EXPECT_EQ(role(), wire::Role::Agent);
  const auto kept = allow_key(file, "pynq-1", key, std::nullopt);
  ASSERT_TRUE(kept.ok()) << kept.error().text();
  EXPECT_EQ(kept->role, wire::Role::Agent) << "a running board would be locked out";
  EXPECT_EQ(kept->before, wire::Role::Agent);
  EXPECT_EQ(role(), wire::Role::Agent);
  EXPECT_FALSE(allow_key(file, "pynq-1", other, std::nullopt).ok());
  EXPECT_FALSE(allow_key(file, "pynq-2", key, std::nullopt).ok());
  EXPECT_EQ(load_allow_list(file)->size(), 1u);
}

// Boards are often let in by a script, several at once.
TEST_F(Keys, ChangesAtTheSameTimeAllCount) {
  const auto file = folder.allow_file();
  std::vector<std::thread> all;
  for (int i = 0; i < 16; ++i) {
    all.emplace_back([&, key = make_key_pair()->public_key, name = "board-" + std::to_string(i)] {
      EXPECT_TRUE(allow_key(file, {name, wire::Role::Agent, key}).ok());
    });
  }
  for (std::thread& one : all) one.join();
  EXPECT_EQ(load_allow_list(file)->size(), 16u);
  all.clear();
  std::mutex mutex;
  std::vector<std::string> made;
  for (int i = 0; i < 16; ++i) {
    all.emplace_back([&] {
      auto pair = folder.load_or_create("client");
      std::lock_guard lock(mutex);
      made.push_back(pair.ok() ? pair->public_key : pair.error().text());
    });
  }
  for (std::thread& one : all) one.join();
  for (const std::string& key : made) EXPECT_EQ(key, folder.load("client")->public_key);
}

TEST_F(Keys, AFailedWriteLeavesTheOldFile) {
  // A folder that takes no new file: the write fails, the list stays whole.
  const auto file = folder.allow_file();
  ASSERT_TRUE(allow_key(file, {"one", wire::Role::Client, make_key_pair()->public_key}).ok());
  EXPECT_FALSE(write_file_atomically(home / "absent" / "allowed", "x", 0600).ok());
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(home)) ++files;
  EXPECT_EQ(files, 2u) << "the list and the folder's lock";
  EXPECT_EQ(load_allow_list(file)->size(), 1u);
}

}  // namespace
}  // namespace fettle::fleet
