// The real agent, started by LocalAgent, with its null device, against broker and
// session: the whole way of a trial but for a compiler and a kernel.
#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <thread>

#include "host/fleet/local_agent.h"
#include "tests/fault/fleet_peers.h"

namespace fettle::fleet {
namespace {

using std::chrono::seconds;

// 64 bytes of output that the null device leaves zero; as expected from a blob.
wire::MeasureRequestT request_of(const wire::Hash& expected) {
  auto request = request_with_blob(expected);
  request.options->min_repeat_ms = 1;
  request.options->repeat = 3;
  request.options->racing_bound_ns = 0;
  request.expected[0]->dtype = wire::ScalarType::Float32;
  request.expected[0]->buffer = 0;
  return request;
}

class RealAgent : public ::testing::Test {
 protected:
  KeyPair client_keys = new_keys(), agent_keys = new_keys(), broker_keys = new_keys();
  std::vector<std::string> lines;
  std::mutex lines_mutex;
  std::unique_ptr<Broker> broker;
  std::unique_ptr<LocalAgent> agent;

  std::unique_ptr<Broker> start_broker(const std::string& listen = "tcp://127.0.0.1:*") {
    BrokerOptions options;
    options.listen = listen;
    options.keys = broker_keys;
    options.allowed = {{"client", wire::Role::Client, client_keys.public_key},
                       {"agent", wire::Role::Agent, agent_keys.public_key}};
    options.times = {milliseconds(100), milliseconds(1500), milliseconds(10'000)};
    auto started = Broker::start(std::move(options));
    EXPECT_TRUE(started.ok()) << started.error().text();
    return std::move(*started);
  }

  BrokerAddress address() const { return {broker->endpoint(), broker->public_key(), client_keys}; }

  void SetUp() override {
    broker = start_broker();
    LocalAgentOptions options;
    options.program = FETTLE_AGENT_PROGRAM;
    options.broker_url = broker->endpoint();
    options.broker_public_key = broker->public_key();
    options.keys = agent_keys;
    options.device_key = "null";
    options.arguments = {"--device-kind", "null"};
    options.log = [this](const std::string& line) {
      std::lock_guard lock(lines_mutex);
      lines.push_back(line);
    };
    auto started = LocalAgent::start(std::move(options));
    ASSERT_TRUE(started.ok()) << started.error().text();
    agent = std::move(*started);
    const auto registered = agent->wait_registered(address(), seconds(20));
    ASSERT_TRUE(registered.ok()) << registered.error().text();
  }
  void TearDown() override {
    agent.reset();
    if (!HasFailure()) return;
    for (const std::string& line : lines) std::printf("agent: %s\n", line.c_str());
  }

  std::unique_ptr<Session> open() {
    SessionPlan plan;
    plan.device_key = "null";
    auto session = Session::open(address(), plan);
    EXPECT_TRUE(session.ok()) << session.error().text();
    return std::move(*session);
  }

  static void all_measured(Session& session, std::uint64_t from, std::uint64_t to) {
    std::map<std::uint64_t, tune::Measured> all;
    for (const auto end = Clock::now() + seconds(60);
         all.size() < to - from && Clock::now() < end;) {
      auto some = session.poll(milliseconds(200));
      ASSERT_TRUE(some.ok()) << some.error().text();
      for (auto& one : *some) {
        const auto trial = one.trial;
        EXPECT_TRUE(trial >= from && trial < to);
        EXPECT_TRUE(all.emplace(trial, std::move(one)).second)
            << "trial " << trial << " came twice";
      }
    }
    ASSERT_EQ(all.size(), to - from);
    for (const auto& [trial, one] : all) {
      const auto* failure = one.outcome.body.AsFailure();
      EXPECT_EQ(failure, nullptr) << trial << ": "
                                  << (failure ? from_wire(*failure->error).text() : "");
      EXPECT_EQ(one.outcome.board_id, session.board().id);
    }
  }
};

TEST_F(RealAgent, MeasuresWithACheckedOutput) {
  auto session = open();
  EXPECT_EQ(session->device().kind, wire::DeviceKind::Null);
  const Bytes zeros(64, 0);
  session->offer_blob(content_hash(zeros), zeros);
  for (std::uint64_t i = 0; i < 30; ++i) session->submit(i, request_of(content_hash(zeros)));
  all_measured(*session, 0, 30);
}

TEST_F(RealAgent, AWrongAnswerIsCalledOne) {
  auto session = open();
  Bytes ones(64, 0);
  ones[3] = 0x3f;  // 0.5f in the first element
  session->offer_blob(content_hash(ones), ones);
  session->submit(1, request_of(content_hash(ones)));
  Result<std::vector<tune::Measured>> polled = std::vector<tune::Measured>{};
  for (int i = 0; i < 200 && polled && polled->empty(); ++i)
    polled = session->poll(milliseconds(100));
  ASSERT_TRUE(polled.ok() && polled->size() == 1);
  const auto* failure = polled->at(0).outcome.body.AsFailure();
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->error->code, ErrorCode::WrongAnswer) << from_wire(*failure->error).text();
}

TEST_F(RealAgent, AKilledAgentLosesNoTrial) {
  auto session = open();
  const Bytes zeros(64, 0);
  session->offer_blob(content_hash(zeros), zeros);
  for (std::uint64_t i = 0; i < 60; ++i) session->submit(i, request_of(content_hash(zeros)));
  std::this_thread::sleep_for(milliseconds(30));
  ::kill(agent->pid(), SIGKILL);
  all_measured(*session, 0, 60);
  EXPECT_EQ(agent->starts(), 2);
}

TEST_F(RealAgent, ARestartedBrokerLosesNoTrial) {
  auto session = open();
  const Bytes zeros(64, 0);
  session->offer_blob(content_hash(zeros), zeros);
  for (std::uint64_t i = 0; i < 60; ++i) session->submit(i, request_of(content_hash(zeros)));
  std::this_thread::sleep_for(milliseconds(30));
  const std::string endpoint = broker->endpoint();
  broker.reset();
  broker = start_broker(endpoint);
  all_measured(*session, 0, 60);
  EXPECT_EQ(agent->starts(), 1);
}

TEST_F(RealAgent, OneSessionAfterAnother) {
  for (int round = 0; round < 3; ++round) {
    auto session = open();
    const Bytes zeros(64, 0);
    session->offer_blob(content_hash(zeros), zeros);
    for (std::uint64_t i = 0; i < 4; ++i) session->submit(i, request_of(content_hash(zeros)));
    if (round != 1) all_measured(*session, 0, 4);  // the second leaves its work behind
  }
}

}  // namespace
}  // namespace fettle::fleet
