// Blobs that take many times the broker's silence to pass: nobody is given up for what is
// merely behind them, and no trial is sent twice.
#include <gtest/gtest.h>

#include "tests/fault/fleet_peers.h"
#include "tests/fault/slow_proxy.h"

namespace fettle::fleet {
namespace {

using std::chrono::seconds;

constexpr std::size_t kRate = 200'000;  // bytes/s, little over what the broker counts on
constexpr std::size_t kBlob = 300'000;  // nearly four silences

class SlowLinks : public ::testing::Test {
 protected:
  KeyPair broker_keys = new_keys(), client_keys = new_keys(), agent_keys = new_keys();
  std::unique_ptr<Broker> broker;

  void SetUp() override {
    BrokerOptions options;
    options.keys = broker_keys;
    options.allowed = {{"client", wire::Role::Client, client_keys.public_key},
                       {"agent", wire::Role::Agent, agent_keys.public_key}};
    options.times = {milliseconds(50), milliseconds(400), milliseconds(1000)};
    auto started = Broker::start(std::move(options));
    ASSERT_TRUE(started.ok()) << started.error().text();
    broker = std::move(*started);
  }

  std::unique_ptr<ScriptedAgent> start_agent(const std::string& url) {
    auto agent =
        std::make_unique<ScriptedAgent>(url, broker->public_key(), agent_keys, "board", "null",
                                        [](const auto&, auto&) { return measured(5); });
    for (int i = 0; i < 1000 && agent->welcomes() == 0; ++i) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    EXPECT_GT(agent->welcomes(), 0);
    return agent;
  }

  // Eight trials, the second and the fifth with a blob of their own; all are completed at
  // their first attempt.
  void expect_one_attempt_each(const std::string& client_url) {
    SessionPlan plan;
    plan.device_key = "null";
    plan.answer_within = seconds(5);
    auto session = Session::open({client_url, broker->public_key(), client_keys}, plan);
    ASSERT_TRUE(session.ok()) << session.error().text();
    for (std::uint64_t trial = 0; trial < 8; ++trial) {
      if (trial % 3 != 1 || trial == 7) {
        (*session)->submit(trial, small_request(double(trial)));
        continue;
      }
      const Bytes bytes(kBlob, static_cast<std::uint8_t>(trial));
      (*session)->offer_blob(content_hash(bytes), bytes);
      (*session)->submit(trial, request_with_blob(content_hash(bytes)));
    }
    std::size_t completed = 0;
    for (const auto end = Clock::now() + seconds(40); completed < 8 && Clock::now() < end;) {
      auto some = (*session)->poll(milliseconds(100));
      ASSERT_TRUE(some.ok()) << some.error().text();
      for (const auto& one : *some) {
        ++completed;
        EXPECT_NE(one.outcome.body.AsMeasurement(), nullptr) << "trial " << one.trial;
        EXPECT_EQ(one.attempt, 1u) << "trial " << one.trial;
      }
    }
    EXPECT_EQ(completed, 8u);
  }
};

TEST_F(SlowLinks, ATrialBehindAnothersBlobIsNotLost) {
  SlowProxy proxy(broker->endpoint(), kRate);
  auto agent = start_agent(proxy.url());
  expect_one_attempt_each(broker->endpoint());
  EXPECT_EQ(agent->assigned(), 8);
  EXPECT_EQ(agent->blobs(), 2);
  EXPECT_EQ(proxy.connections(), 1);
}

TEST_F(SlowLinks, AClientBehindItsOwnBlobsIsNotLost) {
  auto agent = start_agent(broker->endpoint());
  SlowProxy proxy(broker->endpoint(), kRate);
  expect_one_attempt_each(proxy.url());
  EXPECT_EQ(agent->assigned(), 8);
  EXPECT_EQ(proxy.connections(), 1);
}

}  // namespace
}  // namespace fettle::fleet
