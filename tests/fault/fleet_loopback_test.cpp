// Broker, session and a scripted agent over real CURVE sockets: what goes right,
// and what must not harm when a key is wrong, a board dies or the broker restarts.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "host/fleet/broker_question.h"
#include "schemas/wire/content_hash.h"
#include "tests/fault/fleet_peers.h"

namespace fettle::fleet {
namespace {

using std::chrono::seconds;

class Fleet : public ::testing::Test {
 protected:
  std::mutex log_mutex;
  std::vector<std::string> logged;
  KeyPair broker_keys = new_keys(), client_keys = new_keys(), agent_keys = new_keys();

  std::unique_ptr<Broker> start_broker(const std::string& listen = "tcp://127.0.0.1:*") {
    BrokerOptions options;
    options.listen = listen;
    options.keys = broker_keys;
    options.allowed = {{"client", wire::Role::Client, client_keys.public_key},
                       {"agent", wire::Role::Agent, agent_keys.public_key, {}, {"*"}}};
    options.times = {milliseconds(50), milliseconds(400), milliseconds(1000)};
    options.log = [this](const std::string& line) {
      std::lock_guard lock(log_mutex);
      logged.push_back(line);
    };
    auto broker = Broker::start(std::move(options));
    EXPECT_TRUE(broker.ok()) << broker.error().text();
    return std::move(*broker);
  }

  std::unique_ptr<ScriptedAgent> start_agent(const Broker& broker, const std::string& board,
                                             ScriptedAgent::Script script) {
    auto agent = std::make_unique<ScriptedAgent>(broker.endpoint(), broker.public_key(), agent_keys,
                                                 board, "null", std::move(script));
    for (int i = 0; i < 1000 && agent->welcomes() == 0; ++i) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    EXPECT_GT(agent->welcomes(), 0) << "the agent was not welcomed within 5 s";
    return agent;
  }

  SessionPlan plan(const std::string& key = "null") {
    SessionPlan plan;
    plan.device_key = key;
    plan.answer_within = seconds(5);
    return plan;
  }

  BrokerAddress address(const Broker& broker) {
    return {broker.endpoint(), broker.public_key(), client_keys};
  }

  std::unique_ptr<Session> open(const Broker& broker) {
    auto session = Session::open(address(broker), plan());
    EXPECT_TRUE(session.ok()) << session.error().text();
    return std::move(*session);
  }

  // Outcomes by trial; stops at `count` of them or after 20 s. A second result of a
  // trial is a failure.
  static std::map<std::uint64_t, tune::Measured> collect(Session& session, std::size_t count) {
    std::map<std::uint64_t, tune::Measured> all;
    for (const auto end = Clock::now() + seconds(20); all.size() < count && Clock::now() < end;) {
      auto some = session.poll(milliseconds(100));
      EXPECT_TRUE(some.ok()) << some.error().text();
      if (!some) break;
      for (auto& one : *some) {
        const auto trial = one.trial;
        EXPECT_TRUE(all.emplace(trial, std::move(one)).second)
            << "trial " << trial << " came twice";
      }
    }
    EXPECT_EQ(all.size(), count);
    return all;
  }

  static std::optional<wire::OutcomeT> echo(const wire::AssignT& assign, ScriptedAgent&) {
    auto request = decode_request(assign.request);
    EXPECT_TRUE(request.ok()) << request.error().text();
    return measured(request->options->racing_bound_ns);
  }
};

TEST_F(Fleet, MeasuresWhatIsSubmitted) {
  auto broker = start_broker();
  auto agent = start_agent(*broker, "board-1", echo);
  auto session = open(*broker);
  EXPECT_EQ(session->capacity(), 2u);
  EXPECT_EQ(session->board().id, "board-1");
  EXPECT_EQ(session->device().key, "null");
  for (std::uint64_t i = 0; i < 200; ++i) session->submit(i, small_request(1000.0 + double(i)));
  const auto all = collect(*session, 200);
  for (const auto& [trial, one] : all) {
    ASSERT_NE(one.outcome.body.AsMeasurement(), nullptr);
    EXPECT_EQ(one.outcome.body.AsMeasurement()->median, 1000.0 + double(trial));
    EXPECT_EQ(one.attempt, 1u);
    EXPECT_EQ(one.outcome.board_id, "board-1");
    EXPECT_EQ(one.outcome.times->total_ns, 1000u);
  }
  EXPECT_LE(agent->most_held(), 2);
}

TEST_F(Fleet, UploadsABlobOncePerBoard) {
  auto broker = start_broker();
  auto agent = start_agent(*broker, "board-1", [](const auto&, auto&) { return measured(5); });
  auto session = open(*broker);
  const Bytes bytes(300'000, 42);
  const auto hash = content_hash(bytes);
  session->offer_blob(hash, bytes);
  for (std::uint64_t i = 0; i < 20; ++i) session->submit(i, request_with_blob(hash));
  collect(*session, 20);
  EXPECT_EQ(agent->blobs(), 1);
}

// Larger than any message that the sockets take.
TEST_F(Fleet, ALargeBlobArrivesInPieces) {
  auto broker = start_broker();
  auto agent = start_agent(*broker, "board-1", [](const auto&, auto&) { return measured(5); });
  auto session = open(*broker);
  const Bytes bytes(5 * limits::kSocketBytes / 2, 42);
  const auto hash = content_hash(bytes);
  session->offer_blob(hash, bytes);
  for (std::uint64_t i = 0; i < 4; ++i) session->submit(i, request_with_blob(hash));
  collect(*session, 4);
  EXPECT_EQ(agent->blobs(), 5) << "each piece once";
}

TEST_F(Fleet, ARequestWithALargeImageArrives) {
  auto broker = start_broker();
  auto agent = start_agent(*broker, "board-1", [](const auto& assign, auto&) {
    const auto request = decode_request(assign.request);
    EXPECT_TRUE(request.ok() && request->program->images[0]->bytes.empty());
    return measured(5);
  });
  auto session = open(*broker);
  auto request = small_request(1);
  request.program->images[0]->bytes = Bytes(3 * limits::kPieceBytes, 1);
  session->submit(1, request);
  collect(*session, 1);
  EXPECT_EQ(agent->blobs(), 3);
}

TEST_F(Fleet, ABlobThatWasNotOfferedFailsItsTrial) {
  auto broker = start_broker();
  auto agent = start_agent(*broker, "board-1", echo);
  auto session = open(*broker);
  session->submit(7, request_with_blob(content_hash(Bytes{1})));
  const auto all = collect(*session, 1);
  ASSERT_NE(all.at(7).outcome.body.AsFailure(), nullptr);
  EXPECT_EQ(all.at(7).outcome.body.AsFailure()->error->code, ErrorCode::MissingBlob);
}

TEST_F(Fleet, AnUnknownDeviceKeyListsTheKnownOnes) {
  auto broker = start_broker();
  auto agent = start_agent(*broker, "board-1", echo);
  auto session = Session::open(address(*broker), plan("pynq"));
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, ErrorCode::NotFound);
  EXPECT_NE(session.error().message.find("null"), std::string::npos) << session.error().text();
}

TEST_F(Fleet, AWrongKeyGetsNoAnswer) {
  auto broker = start_broker();
  auto agent = start_agent(*broker, "board-1", echo);
  auto stranger = address(*broker);
  stranger.keys = new_keys();
  auto quick = plan();
  quick.answer_within = milliseconds(600);
  auto session = Session::open(stranger, quick);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, ErrorCode::Unreachable);
  EXPECT_NE(session.error().message.find("allow"), std::string::npos);

  {
    std::lock_guard lock(log_mutex);
    ASSERT_EQ(logged.size(), 1u) << "told once, though it dialled again and again";
    EXPECT_NE(logged[0].find(stranger.keys.public_key), std::string::npos) << logged[0];
  }
  for (int i = 0; i < 100 && broker->status().unknown_keys == 0; ++i)
    std::this_thread::sleep_for(milliseconds(20));
  EXPECT_GE(broker->status().unknown_keys, 1u);

  auto misled = address(*broker);
  misled.public_key = new_keys().public_key;  // another broker's
  session = Session::open(misled, quick);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, ErrorCode::Unreachable);
}

TEST_F(Fleet, AnAgentsKeyIsNoClients) {
  auto broker = start_broker();
  auto agent = start_agent(*broker, "board-1", echo);
  auto wrong = address(*broker);
  wrong.keys = agent_keys;
  auto session = Session::open(wrong, plan());
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, ErrorCode::Unauthorized);
}

TEST_F(Fleet, NoBrokerIsUnreachable) {
  BrokerAddress nowhere{"tcp://127.0.0.1:9", broker_keys.public_key, client_keys};
  auto quick = plan();
  quick.answer_within = milliseconds(300);
  auto session = Session::open(nowhere, quick);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, ErrorCode::Unreachable);
  auto devices = list_devices(nowhere, milliseconds(300));
  ASSERT_FALSE(devices.ok());
  EXPECT_EQ(devices.error().code, ErrorCode::Unreachable);
}

TEST_F(Fleet, ListsDevices) {
  auto broker = start_broker();
  auto agent = start_agent(*broker, "board-1", echo);
  auto list = list_devices(address(*broker), seconds(5));
  ASSERT_TRUE(list.ok()) << list.error().text();
  ASSERT_EQ(list->keys.size(), 1u);
  EXPECT_EQ(list->keys[0]->key, "null");
  EXPECT_EQ(list->keys[0]->total, 1u);
  EXPECT_EQ(list->keys[0]->free, 1u);
  EXPECT_EQ(list->keys[0]->boards.at(0)->id, "board-1");
}

TEST_F(Fleet, ALostBoardsTrialsGoToAnotherBoard) {
  auto broker = start_broker();
  auto mute = start_agent(*broker, "mute", [](const auto&, auto&) { return std::nullopt; });
  auto session = open(*broker);
  for (std::uint64_t i = 0; i < 6; ++i) session->submit(i, small_request(1 + double(i)));
  for (int i = 0; i < 1000 && mute->assigned() < 2; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  ASSERT_EQ(mute->assigned(), 2);  // its credits, no more
  auto well = start_agent(*broker, "well", echo);
  mute->kill();
  const auto all = collect(*session, 6);
  int again = 0;
  for (const auto& [trial, one] : all) {
    EXPECT_NE(one.outcome.body.AsMeasurement(), nullptr);
    EXPECT_EQ(one.outcome.board_id, "well");
    again += one.attempt == 2;
  }
  EXPECT_EQ(again, 2);
}

TEST_F(Fleet, ARestartedBrokerLosesNothing) {
  auto broker = start_broker();
  const std::string endpoint = broker->endpoint();
  std::atomic<bool> answering{false};
  auto agent = start_agent(*broker, "board-1", [&](const auto& assign, auto& self) {
    return answering ? echo(assign, self) : std::nullopt;
  });
  auto session = open(*broker);
  for (std::uint64_t i = 0; i < 20; ++i) session->submit(i, small_request(1 + double(i)));
  for (int i = 0; i < 1000 && agent->assigned() < 2; ++i)
    std::this_thread::sleep_for(milliseconds(5));
  broker->stop();
  broker.reset();
  answering = true;
  broker = start_broker(endpoint);
  const auto all = collect(*session, 20);
  for (const auto& [trial, one] : all) {
    ASSERT_NE(one.outcome.body.AsMeasurement(), nullptr);
    EXPECT_EQ(one.outcome.body.AsMeasurement()->median, 1 + double(trial));
  }
  EXPECT_GE(agent->welcomes(), 2);
}

TEST_F(Fleet, AClosedSessionFreesItsBoard) {
  auto broker = start_broker();
  auto agent = start_agent(
      *broker, "board-1",
      [&, first = true](const auto& assign, auto& self) mutable -> std::optional<wire::OutcomeT> {
        if (std::exchange(first, false)) return std::nullopt;
        return echo(assign, self);
      });
  {
    auto session = open(*broker);
    session->submit(1, small_request(1));
    for (int i = 0; i < 1000 && agent->assigned() < 1; ++i)
      std::this_thread::sleep_for(milliseconds(5));
  }
  auto session = open(*broker);
  for (std::uint64_t i = 0; i < 4; ++i) session->submit(i, small_request(9));
  collect(*session, 4);
}

TEST_F(Fleet, ARevokedKeyIsShutOut) {
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / ("fettle-allow-" + std::to_string(::getpid()));
  const auto file = folder / "allowed";
  ASSERT_TRUE(allow_key(file, {"client", wire::Role::Client, client_keys.public_key}).ok());
  ASSERT_TRUE(allow_key(file, {"agent", wire::Role::Agent, agent_keys.public_key}).ok());
  BrokerOptions options;
  options.keys = broker_keys;
  options.allow_file = file;
  options.times = {milliseconds(50), milliseconds(400), milliseconds(1000)};
  auto broker = Broker::start(std::move(options));
  ASSERT_TRUE(broker.ok()) << broker.error().text();
  auto agent = start_agent(**broker, "board-1", echo);
  auto quick = plan();
  quick.away_at_most = milliseconds(800);
  auto session = Session::open(address(**broker), quick);
  ASSERT_TRUE(session.ok()) << session.error().text();
  ASSERT_TRUE(revoke_key(file, "client").ok());
  Result<std::vector<tune::Measured>> polled = std::vector<tune::Measured>{};
  for (const auto end = Clock::now() + seconds(10); polled && Clock::now() < end;) {
    polled = (*session)->poll(milliseconds(50));
  }
  ASSERT_FALSE(polled.ok());
  EXPECT_EQ(polled.error().code, ErrorCode::Unreachable);
  std::filesystem::remove_all(folder);
}

TEST_F(Fleet, AKeyThatWasAllowedAMomentAgoIsLetIn) {
  const auto file = std::filesystem::path(::testing::TempDir()) /
                    ("fettle-moment-" + std::to_string(::getpid())) / "allowed";
  ASSERT_TRUE(allow_key(file, {"agent", wire::Role::Agent, agent_keys.public_key}).ok());
  BrokerOptions options;
  options.keys = broker_keys;
  options.allow_file = file;
  auto broker = Broker::start(std::move(options));
  ASSERT_TRUE(broker.ok()) << broker.error().text();
  auto agent = start_agent(**broker, "board-1", echo);
  for (int i = 0; i < 5; ++i) {
    client_keys = new_keys();
    ASSERT_TRUE(
        allow_key(file, {"client-" + std::to_string(i), wire::Role::Client, client_keys.public_key})
            .ok());
    auto session = Session::open(address(**broker), plan());
    ASSERT_TRUE(session.ok()) << session.error().text();
  }
  // One that dialled before it was let in dials again.
  client_keys = new_keys();
  std::thread later([&, key = client_keys.public_key] {
    std::this_thread::sleep_for(milliseconds(300));
    EXPECT_TRUE(allow_key(file, {"late", wire::Role::Client, key}).ok());
  });
  SessionPlan patient = plan();
  patient.answer_within = seconds(10);
  auto session = Session::open(address(**broker), patient);
  later.join();
  EXPECT_TRUE(session.ok()) << session.error().text();
  std::filesystem::remove_all(file.parent_path());
}

TEST_F(Fleet, ABoardThatIsDownWhenTheBrokerStartsIsSwitched) {
  BrokerOptions options;
  options.keys = broker_keys;
  options.allowed = {{"agent", wire::Role::Agent, agent_keys.public_key}};
  options.times = {milliseconds(50), milliseconds(400), milliseconds(1000)};
  options.power_cycle.commands = {{"agent", "true"}};
  options.power_cycle.patience = milliseconds(100);
  ASSERT_TRUE(add_power_cycle(options.power_cycle, "agnet=true").ok());
  std::atomic<bool> switched{false}, misspelt{false};
  options.log = [&](const std::string& line) {
    if (line.find("'agent' is silent") != std::string::npos) switched = true;
    if (line.find("'agnet', which the allow list") != std::string::npos) misspelt = true;
  };
  auto broker = Broker::start(std::move(options));
  ASSERT_TRUE(broker.ok()) << broker.error().text();
  EXPECT_TRUE(misspelt);
  for (int i = 0; i < 1000 && !switched; ++i) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_TRUE(switched);
}

TEST_F(Fleet, ATurnThatFailsIsNotTheBrokersEnd) {
  const auto file = std::filesystem::path(::testing::TempDir()) /
                    ("fettle-turn-" + std::to_string(::getpid())) / "allowed";
  ASSERT_TRUE(allow_key(file, {"client", wire::Role::Client, client_keys.public_key}).ok());
  BrokerOptions options;
  options.keys = broker_keys;
  options.allow_file = file;
  options.times = {milliseconds(50), milliseconds(400), milliseconds(1000)};
  std::atomic<bool> failed{false}, told{false};
  options.log = [&](const std::string& line) {
    if (line.find("no room for this line") != std::string::npos) told = true;
    if (!failed.exchange(true)) throw std::runtime_error("no room for this line");
  };
  auto broker = Broker::start(std::move(options));
  ASSERT_TRUE(broker.ok()) << broker.error().text();
  ASSERT_TRUE(allow_key(file, {"agent", wire::Role::Agent, agent_keys.public_key}).ok());
  for (int i = 0; i < 2000 && !told; ++i) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_TRUE(told);
  auto agent = start_agent(**broker, "board-1", echo);
  auto session = open(**broker);
  session->submit(1, small_request(9));
  collect(*session, 1);
  std::filesystem::remove_all(file.parent_path());
}

}  // namespace
}  // namespace fettle::fleet
