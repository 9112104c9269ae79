// A broker that is killed and started again, and what it finds in its state.
#include <sys/resource.h>
#include <csignal>
#include <fstream>
#include <map>
#include <mutex>

#include "host/fleet/broker_question.h"
#include "host/fleet/state_file.h"
#include "schemas/wire/content_hash.h"
#include "tests/fault/fleet_peers.h"
#include "tests/support/running_program.h"

namespace fettle::fleet {
namespace {

using std::chrono::seconds;
using testing::RunningProgram;
using testing::ScratchFolder;

// A client whose connection the test may cut: a session's state machine and a socket.
class CutClient {
 public:
  CutClient(std::string url, std::string broker_key, KeyPair keys)
      : url_(std::move(url)),
        broker_key_(std::move(broker_key)),
        keys_(std::move(keys)),
        core({.device_key = "null"}, random_id(), random_id(), Clock::now()) {}

  void dial() {
    context_ = std::make_unique<zmq::context_t>(1);
    auto made = make_client(*context_, url_, keys_, broker_key_);
    ASSERT_TRUE(made.ok());
    socket_ = std::move(*made);
  }
  void hang_up() {
    socket_.close();
    context_.reset();
  }
  // Talks until `done` says so; false after 20 s.
  bool talk(const std::function<bool()>& done) {
    for (const auto end = Clock::now() + seconds(20); Clock::now() < end && !core.error();) {
      core.tick(Clock::now());
      for (const Outgoing& next : core.take_outgoing()) {
        const auto message = decode_message(*next.bytes);
        blobs_sent += message.ok() && message->body.AsPutBlob() ? 1 : 0;
        socket_.send(zmq::buffer(*next.bytes), zmq::send_flags::none);
      }
      for (auto& measured : core.take_results()) {
        const std::uint64_t trial = measured.trial;
        EXPECT_TRUE(results.emplace(trial, std::move(measured)).second) << trial << " came twice";
      }
      if (done()) return true;
      zmq::pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
      zmq::poll(&item, 1, milliseconds(5));
      for (zmq::message_t message; socket_.recv(message, zmq::recv_flags::dontwait);) {
        core.receive({static_cast<const std::uint8_t*>(message.data()), message.size()},
                     Clock::now());
      }
    }
    EXPECT_FALSE(core.error()) << core.error()->text();
    return false;
  }

 private:
  std::string url_, broker_key_;
  KeyPair keys_;
  std::unique_ptr<zmq::context_t> context_;
  zmq::socket_t socket_;

 public:
  SessionCore core;
  std::map<std::uint64_t, tune::Measured> results;
  int blobs_sent = 0;
};

// A socket outlives no context: this one's is cut first.
struct Hold {
  std::mutex mutex;
  bool go = false;
  std::vector<LeaseId> early;         // leases that wait for `go`
  LeaseId unfinished = 0;             // of the trial that ends only after the restart
  std::map<std::uint64_t, int> runs;  // by the trial's marker
};

constexpr std::uint64_t kTrials = 12, kUnfinished = 11;

TEST(BrokerState, BrokerKilledHoldingResults) {
  const ScratchFolder home;
  const std::string state = home.path() + "/state";
  const KeyFolder folder(home.path());
  const KeyPair client_keys = new_keys(), agent_keys = new_keys();
  ASSERT_TRUE(folder.load_or_create("broker").ok());
  ASSERT_TRUE(
      allow_key(folder.allow_file(), {"client", wire::Role::Client, client_keys.public_key}).ok());
  ASSERT_TRUE(
      allow_key(folder.allow_file(), {"agent", wire::Role::Agent, agent_keys.public_key}).ok());
  const auto start = [&](const std::string& listen) {
    auto broker = std::make_unique<RunningProgram>(
        std::vector<std::string>{FLEET_TEST_BROKER, listen, home.path(), state});
    EXPECT_TRUE(broker->wait_for_out("\n", seconds(10))) << broker->err();
    return broker;
  };
  auto broker = start("tcp://127.0.0.1:*");
  const std::string said = broker->out();
  const std::string url = said.substr(0, said.find(' '));
  const std::string key = said.substr(said.find(' ') + 1, 40);

  Hold hold;
  ScriptedAgent agent(url, key, agent_keys, "board-1", "null",
                      [&](const wire::AssignT& assign, ScriptedAgent&) {
                        const auto request = decode_request(assign.request);
                        const auto marker = std::uint64_t(request->options->racing_bound_ns);
                        std::lock_guard lock(hold.mutex);
                        ++hold.runs[marker];
                        std::optional<wire::OutcomeT> outcome;
                        if (marker == kUnfinished)
                          hold.unfinished = assign.lease;
                        else if (!hold.go)
                          hold.early.push_back(assign.lease);
                        else
                          outcome = measured(5);
                        return outcome;
                      });
  CutClient client(url, key, client_keys);
  client.dial();
  // The agent may dial in a moment later: a client asks for a board that there is.
  for (int i = 0; i < 1000 && agent.welcomes() == 0; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  ASSERT_TRUE(client.talk([&] { return client.core.opened(); }));
  const Bytes blob(300'000, 42);
  client.core.offer_blob(content_hash(blob), blob);
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    auto request = request_with_blob(content_hash(blob));
    request.options->racing_bound_ns = double(trial);
    client.core.submit(trial, encode(request), blobs_of(request));
  }
  const auto assigned = [&](std::size_t count) {
    std::lock_guard lock(hold.mutex);
    return hold.runs.size() == count;
  };
  ASSERT_TRUE(client.talk([&] { return assigned(2); }));
  client.hang_up();
  EXPECT_TRUE(client.results.empty());

  // What is measured now no client fetches.
  {
    std::lock_guard lock(hold.mutex);
    hold.go = true;
    for (LeaseId lease : hold.early) agent.answer_later(lease, measured(5));
  }
  for (int i = 0; i < 1000 && !assigned(kTrials); ++i) std::this_thread::sleep_for(milliseconds(5));
  ASSERT_TRUE(assigned(kTrials));
  std::this_thread::sleep_for(milliseconds(300));
  broker->signal(SIGKILL);
  EXPECT_EQ(broker->wait(seconds(5)), 128 + SIGKILL);
  std::this_thread::sleep_for(milliseconds(200));

  broker = start(url);
  const int blobs_before = client.blobs_sent;
  client.dial();
  const auto begun = Clock::now();
  EXPECT_TRUE(client.talk([&] { return client.results.size() == kTrials - 1; }))
      << client.results.size() << " results; " << broker->err();
  std::printf("%zu results of before the kill after %d ms\n", client.results.size(),
              int(std::chrono::duration_cast<milliseconds>(Clock::now() - begun).count()));
  EXPECT_EQ(client.results.count(kUnfinished), 0u);
  // The lease that was on the board is the same one still.
  for (int i = 0; i < 1000 && agent.welcomes() < 2; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  agent.answer_later(hold.unfinished, measured(7));
  EXPECT_TRUE(client.talk([&] { return client.results.size() == kTrials; })) << broker->err();
  for (const auto& [trial, result] : client.results) {
    ASSERT_NE(result.outcome.body.AsMeasurement(), nullptr) << trial;
    EXPECT_EQ(result.outcome.body.AsMeasurement()->median, trial == kUnfinished ? 7 : 5);
    EXPECT_EQ(result.attempt, 1u) << trial;
  }
  {
    std::lock_guard lock(hold.mutex);
    for (const auto& [marker, runs] : hold.runs) EXPECT_EQ(runs, 1) << "trial " << marker;
  }
  EXPECT_EQ(client.blobs_sent, blobs_before) << "the blob is in the broker's state";

  // Killed once more with nothing left to do: a trial of the same session goes on. What it saved
  // last it writes a moment later (state_file.h).
  std::this_thread::sleep_for(milliseconds(300));
  broker->signal(SIGKILL);
  broker->wait(seconds(5));
  broker = start(url);
  auto request = request_with_blob(content_hash(blob));
  request.options->racing_bound_ns = 100;
  client.core.submit(100, encode(request), blobs_of(request));
  EXPECT_TRUE(client.talk([&] { return client.results.size() == kTrials + 1; })) << broker->err();
  EXPECT_EQ(client.blobs_sent, blobs_before);
  client.hang_up();
  agent.kill();
  for (const auto& [marker, runs] : hold.runs) EXPECT_EQ(runs, 1) << "trial " << marker;
}

class StateFileTest : public ::testing::Test {
 protected:
  ScratchFolder scratch;
  std::filesystem::path folder = std::filesystem::path(scratch.path()) / "state";
  std::mutex mutex;
  std::vector<std::string> logged;

  std::size_t told() {
    const std::lock_guard lock(mutex);
    return logged.size();
  }
  std::unique_ptr<StateFile> open() {
    auto opened = StateFile::open(folder, [this](const std::string& line) {
      const std::lock_guard lock(mutex);
      logged.push_back(line);
    });
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  static SavedSession session() {
    return {{1, 2}, {"me", wire::Role::Client, "key", {}, {}}, "pynq", "tuning", -3, 9};
  }
  static SavedTrial trial(std::uint64_t number) {
    return {{{1, 2}, number}, "board", share(encode(small_request(double(number)))), {}, 1};
  }
  static StoredBlob stored(const Bytes& bytes) {
    StoredBlob blob;
    for_each_piece(content_hash(bytes), bytes, [&](wire::PutBlobT piece) {
      blob.messages.push_back(pack_message(std::move(piece)));
      blob.bytes += blob.messages.back()->size();
    });
    return blob;
  }
  void fill() {
    const Bytes one(5000, 1), two(3 * limits::kPieceBytes, 2);
    auto file = open();
    file->save({session(), trial(1), trial(2), trial(3),
                SavedLease{{{1, 2}, 2},
                           ~LeaseId{0},
                           {"pynq-1", wire::Role::Agent, "agent", {}, {"*"}},
                           7,
                           "board",
                           1,
                           2,
                           milliseconds(500)},
                SavedOutcome{{{1, 2}, 3}, share({1, 2, 3})},
                SavedBlob{content_hash(one), stored(one), "key"},
                SavedBlob{content_hash(two), stored(two), "key"},
                SavedPin{{"pynq-2", wire::Role::Agent, "agent-2", {"pynq", "z2"}, {}}, "board-2"},
                SavedReservation{"board", "pynq-1", session().who, "a note", seconds(3600)},
                SavedReservation{"board-2", "pynq-2", session().who, "", seconds(60)},
                ReservationEnded{"board-2"}});
    for (std::uint64_t i = 10; i < 200; ++i) file->save({trial(i)});
  }
};

TEST_F(StateFileTest, GivesBackWhatWasSaved) {
  fill();
  auto file = open();
  const std::uint64_t instance = file->instance();
  EXPECT_NE(instance, 0u);
  const BrokerState state = file->take_state();
  EXPECT_EQ(state.instance, instance);
  ASSERT_EQ(state.sessions.size(), 1u);
  EXPECT_EQ(state.sessions[0].priority, -3);
  EXPECT_EQ(state.sessions[0].who, session().who);
  ASSERT_EQ(state.trials.size(), 192u) << "one of three has ended";
  EXPECT_EQ(*state.trials[0].request, *trial(1).request);
  ASSERT_EQ(state.leases.size(), 1u);
  EXPECT_EQ(state.leases[0].lease, ~LeaseId{0});
  EXPECT_EQ(state.leases[0].who.boards, (std::vector<std::string>{"*"}));
  EXPECT_EQ(state.leases[0].attempts, 2u);
  ASSERT_EQ(state.outcomes.size(), 1u);
  EXPECT_EQ(*state.outcomes[0].message, (Bytes{1, 2, 3}));
  ASSERT_EQ(state.pins.size(), 1u);
  EXPECT_EQ(state.pins[0].who.device_keys, (std::vector<std::string>{"pynq", "z2"}));
  ASSERT_EQ(state.reservations.size(), 1u) << "one of two has ended";
  EXPECT_EQ(state.reservations[0].board_name, "pynq-1");
  EXPECT_EQ(state.reservations[0].who, session().who);
  EXPECT_EQ(state.reservations[0].note, "a note");
  EXPECT_GT(state.reservations[0].left, seconds(3500));
  EXPECT_LE(state.reservations[0].left, seconds(3600));
  ASSERT_EQ(state.blobs.size(), 2u);
  EXPECT_EQ(state.blobs[0].blob.messages.size() + state.blobs[1].blob.messages.size(), 4u);
  file->save({SessionEnded{{1, 2}}, BlobGone{state.blobs[0].hash}});
  file.reset();
  file = open();
  const BrokerState later = file->take_state();
  EXPECT_TRUE(later.sessions.empty() && later.trials.empty() && later.outcomes.empty());
  EXPECT_EQ(later.blobs.size(), 1u);
  EXPECT_EQ(file->instance(), instance);
  EXPECT_TRUE(logged.empty()) << logged[0];
}

// As brokers wrote it before boards could be reserved.
TEST_F(StateFileTest, AnOlderStateIsTakenOver) {
  fill();
  {
    auto raw = records::SqliteConnection::open((folder / "broker.db").string(),
                                               SQLITE_OPEN_READWRITE, milliseconds(100));
    ASSERT_TRUE(raw.ok());
    ASSERT_TRUE((*raw)->execute("DROP TABLE reservations; PRAGMA user_version = 1").ok());
  }
  auto file = open();
  ASSERT_TRUE(file);
  EXPECT_TRUE(logged.empty()) << logged[0];
  const BrokerState state = file->take_state();
  EXPECT_EQ(state.sessions.size(), 1u);
  EXPECT_EQ(state.trials.size(), 192u);
  EXPECT_TRUE(state.reservations.empty());
  file->save({SavedReservation{"board", "pynq-1", session().who, "", seconds(60)}});
  file.reset();
  EXPECT_EQ(open()->take_state().reservations.size(), 1u);
}

// Over real sockets: a broker is started again, and who has which board is as it was.
TEST(BrokerState, ReservationsOutliveTheBroker) {
  const ScratchFolder home;
  const KeyPair broker_keys = new_keys(), mine = new_keys(), others = new_keys(),
                agent_keys = new_keys();
  const auto start = [&](const std::string& listen) {
    BrokerOptions options;
    options.listen = listen;
    options.keys = broker_keys;
    options.allowed = {{"alice", wire::Role::Client, mine.public_key},
                       {"bob", wire::Role::Client, others.public_key},
                       {"pynq-3", wire::Role::Agent, agent_keys.public_key}};
    options.state_folder = home.path() + "/state";
    auto broker = Broker::start(std::move(options));
    EXPECT_TRUE(broker.ok()) << broker.error().text();
    return std::move(*broker);
  };
  auto broker = start("tcp://127.0.0.1:*");
  const std::string url = broker->endpoint();
  const auto as = [&](const KeyPair& keys) {
    return BrokerAddress{url, broker_keys.public_key, keys};
  };
  ScriptedAgent agent(url, broker_keys.public_key, agent_keys, "board-3", "pynq",
                      [](const wire::AssignT&, ScriptedAgent&) { return measured(5); });
  const auto dialled_in = [&](int times) {
    for (int i = 0; i < 1000 && agent.welcomes() < times; ++i)
      std::this_thread::sleep_for(milliseconds(5));
  };
  dialled_in(1);
  const auto reserved = reserve_board(as(mine), "pynq-3", seconds(3600), "paper", seconds(5));
  ASSERT_TRUE(reserved.ok()) << reserved.error().text();
  EXPECT_EQ(reserved->board_id, "board-3");
  broker.reset();
  broker = start(url);
  dialled_in(2);
  const auto list = list_devices(as(others), seconds(5));
  ASSERT_TRUE(list.ok()) << list.error().text();
  ASSERT_EQ(list->keys.size(), 1u);
  ASSERT_EQ(list->keys[0]->standings.size(), 1u);
  EXPECT_EQ(list->keys[0]->standings[0]->reserved_for, "alice");
  EXPECT_GT(list->keys[0]->standings[0]->reserved_seconds, 3500u);

  SessionPlan plan;
  plan.device_key = "pynq";
  const auto refused = Session::open(as(others), plan);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("'pynq-3' is reserved for 'alice'"), std::string::npos)
      << refused.error().text();
  EXPECT_TRUE(Session::open(as(mine), plan).ok());
  const auto not_his = release_board(as(others), "pynq-3", seconds(5));
  ASSERT_FALSE(not_his.ok());
  EXPECT_EQ(not_his.error().code, ErrorCode::Unauthorized);
  // Whoever has the broker's own key is its owner.
  const auto released = release_board(as(broker_keys), "pynq-3", seconds(5));
  ASSERT_TRUE(released.ok()) << released.error().text();
  EXPECT_TRUE(Session::open(as(others), plan).ok());
  agent.kill();
}

TEST_F(StateFileTest, OneBrokerAtATimeHasIt) {
  auto file = open();
  const auto second = StateFile::open(folder, {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::Timeout) << second.error().text();
  EXPECT_NE(second.error().text().find(folder.string()), std::string::npos);
}

// However it is damaged: it is put aside, told, and the broker starts.
TEST_F(StateFileTest, DamagedFilesArePutAside) {
  const auto database = folder / "broker.db";
  const auto damage = [&](const char* how, const std::function<void()>& done) {
    logged.clear();
    std::filesystem::remove_all(folder);
    fill();
    done();
    auto file = open();
    ASSERT_TRUE(file) << how;
    EXPECT_TRUE(file->take_state().sessions.empty()) << how;
    ASSERT_FALSE(logged.empty()) << how;
    EXPECT_NE(logged[0].find("put aside as " + database.string() + ".damaged-1"), std::string::npos)
        << logged[0];
    EXPECT_TRUE(std::filesystem::exists(database.string() + ".damaged-1")) << how;
    file->save({session()});
    file.reset();
    EXPECT_EQ(open()->take_state().sessions.size(), 1u) << how;
  };
  damage("garbage", [&] { std::ofstream(database) << std::string(100'000, 'x'); });
  damage("half of it",
         [&] { std::filesystem::resize_file(database, std::filesystem::file_size(database) / 2); });
  damage("pages of zeros", [&] {
    std::fstream file(database, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    for (int i = 0; i < 3 * 4096; ++i) file.put(0);
  });
  damage("another program's", [&] {
    std::filesystem::remove(database);
    auto other = records::SqliteConnection::open(
        database.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, milliseconds(100));
    ASSERT_TRUE((*other)->execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)").ok());
  });
}

TEST_F(StateFileTest, ABlobThatIsNotWholeIsLeftOut) {
  fill();
  for (const auto& entry : std::filesystem::directory_iterator(folder / "blobs")) {
    if (entry.file_size() > 5000) std::filesystem::resize_file(entry.path(), 7000);
  }
  std::ofstream(folder / "blobs" / "half.new") << "x";
  auto file = open();
  EXPECT_EQ(file->take_state().blobs.size(), 1u);
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_NE(logged[0].find("left out"), std::string::npos);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "blobs"), {}), 1);
}

TEST_F(StateFileTest, ALaterFettlesStateIsLeftAsItIs) {
  fill();
  const auto blobs = [&] {
    return std::distance(std::filesystem::directory_iterator(folder / "blobs"), {});
  };
  const auto before = blobs();
  {
    auto file = records::SqliteConnection::open((folder / "broker.db").string(),
                                                SQLITE_OPEN_READWRITE, milliseconds(100));
    ASSERT_TRUE((*file)->execute("PRAGMA user_version = 1000").ok());
  }
  auto refused = StateFile::open(folder, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::VersionMismatch);
  EXPECT_NE(refused.error().text().find("--state"), std::string::npos);
  EXPECT_EQ(blobs(), before);
}

TEST_F(StateFileTest, ABlobThatCannotBeKeptCostsNothingElse) {
  auto file = open();
  std::filesystem::remove_all(folder / "blobs");
  std::ofstream(folder / "blobs") << "no folder";
  const Bytes bytes(5000, 1);
  file->save({session(), SavedBlob{content_hash(bytes), stored(bytes), "key"}, trial(1)});
  file.reset();
  std::filesystem::remove(folder / "blobs");
  const auto state = open()->take_state();
  EXPECT_EQ(state.sessions.size(), 1u);
  EXPECT_EQ(state.trials.size(), 1u);
  EXPECT_TRUE(state.blobs.empty());
}

// The broker itself saves: it must not wait for a disk that takes nothing.
TEST_F(StateFileTest, AFullDiskHoldsNobodyUp) {
  auto opened = StateFile::open(folder, {}, 4096);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1024, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto start = Clock::now();
  for (std::uint64_t i = 0; i < 200; ++i) (*opened)->save({session(), trial(i)});
  const auto took = Clock::now() - start;
  opened->reset();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_LT(took, seconds(60));
}

// A disk that is full for a while, here by the limit of a file's size.
TEST_F(StateFileTest, WhatCouldNotBeWrittenIsWrittenLater) {
  auto file = open();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1024, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  file->save({session(), trial(1)});
  for (int i = 0; i < 2000 && told() == 0; ++i) std::this_thread::sleep_for(milliseconds(5));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  file->save({trial(2)});
  for (int i = 0; i < 2000 && told() < 2; ++i) std::this_thread::sleep_for(milliseconds(5));
  file.reset();
  ASSERT_EQ(logged.size(), 2u);
  EXPECT_NE(logged[0].find("is not kept"), std::string::npos) << logged[0];
  EXPECT_NE(logged[1].find("is kept again"), std::string::npos) << logged[1];
  const auto state = open()->take_state();
  EXPECT_EQ(state.sessions.size(), 1u);
  EXPECT_EQ(state.trials.size(), 2u);
}

}  // namespace
}  // namespace fettle::fleet
