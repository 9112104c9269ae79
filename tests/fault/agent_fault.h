// A broker of the test's own and a real agent process for it (FETTLE_AGENT), over the loopback.
#pragma once

#include <gtest/gtest.h>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "host/fleet/broker.h"
#include "host/fleet/broker_question.h"
#include "host/fleet/session.h"
#include "tests/support/agent_candidates.h"
#include "tests/support/agent_process.h"

namespace fettle {

using std::chrono::milliseconds;

class AgentFault : public ::testing::Test {
 protected:
  fleet::KeyPair broker_keys = *fleet::make_key_pair(), client_keys = *fleet::make_key_pair(),
                 agent_keys = *fleet::make_key_pair();
  std::unique_ptr<fleet::Broker> broker;
  wire::Hash answer = content_hash(test::candidate_answer());

  void SetUp() override {
    if (!test::have_candidates()) GTEST_SKIP() << "no candidates for this architecture";
    broker = start_broker("tcp://127.0.0.1:*");
  }

  std::unique_ptr<fleet::Broker> start_broker(const std::string& listen,
                                              const std::string& state = "",
                                              milliseconds silence = milliseconds(500)) {
    fleet::BrokerOptions options;
    options.listen = listen;
    options.keys = broker_keys;
    options.allowed = {{"client", wire::Role::Client, client_keys.public_key},
                       {"agent", wire::Role::Agent, agent_keys.public_key}};
    options.times = {milliseconds(50), silence, milliseconds(state.empty() ? 1000 : 10'000)};
    options.state_folder = state;
    auto started = fleet::Broker::start(std::move(options));
    EXPECT_TRUE(started.ok()) << started.error().text();
    return std::move(*started);
  }

  std::unique_ptr<test::AgentProcess> start_agent(
      const std::string& url, const std::string& broker_key, const fleet::KeyPair& keys,
      const std::vector<std::string>& devices = {"--key", "board"}) {
    std::vector<std::string> words{"--broker",       url,    "--broker-key", broker_key,
                                   "--memory-limit", "64",   "--blob-cache", "1",
                                   "--log-level",    "debug"};
    words.insert(words.end(), devices.begin(), devices.end());
    return std::make_unique<test::AgentProcess>(std::vector<std::string>{FETTLE_AGENT}, words,
                                                keys.public_key, keys.secret_key);
  }
  std::unique_ptr<test::AgentProcess> start_agent() {
    auto agent = start_agent(broker->endpoint(), broker->public_key(), agent_keys);
    EXPECT_TRUE(said(*agent, "registered", 10'000)) << agent->log();
    return agent;
  }
  static bool said(test::AgentProcess& agent, const std::string& words, int wait_ms) {
    for (int waited = 0; waited <= wait_ms; waited += 10) {
      if (agent.log().find(words) != std::string::npos) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }

  std::unique_ptr<fleet::Session> open_session() {
    fleet::SessionPlan plan;
    plan.device_key = "board";
    auto session =
        fleet::Session::open({broker->endpoint(), broker->public_key(), client_keys}, plan);
    EXPECT_TRUE(session.ok()) << session.error().text();
    if (!session) return nullptr;
    (*session)->offer_blob(answer, test::candidate_answer());
    return std::move(*session);
  }

  // The keys of devices that the broker has.
  std::set<std::string> offered() {
    std::set<std::string> keys;
    auto list = fleet::list_devices({broker->endpoint(), broker->public_key(), client_keys},
                                    milliseconds(5000));
    EXPECT_TRUE(list.ok()) << list.error().text();
    if (!list) return keys;
    for (const auto& status : list->keys) {
      if (status->total > 0) keys.insert(status->key);
    }
    return keys;
  }

  static std::map<std::uint64_t, tune::Measured> collect(fleet::Session& session,
                                                         std::size_t count) {
    std::map<std::uint64_t, tune::Measured> all;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (all.size() < count && std::chrono::steady_clock::now() < end) {
      auto some = session.poll(milliseconds(100));
      EXPECT_TRUE(some.ok()) << some.error().text();
      if (!some) break;
      for (auto& one : *some) {
        const auto trial = one.trial;
        EXPECT_TRUE(all.emplace(trial, std::move(one)).second) << trial << " came twice";
      }
    }
    EXPECT_EQ(all.size(), count);
    return all;
  }
};

}  // namespace fettle
