// A broker that is killed and started again, and what it finds in its state.
#include <csignal>
#include <fstream>
#include <map>

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

}  // namespace
}  // namespace fettle::fleet
