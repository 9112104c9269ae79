// What one message, or one peer that does not read, may cost the broker (issue 18, part 5).
#include <cmath>
#include <limits>

#include "schemas/wire/content_hash.h"
#include "tests/unit/trust_fixture.h"

namespace fettle::fleet {
namespace {

class Amplify : public Trust {
 protected:
  static std::vector<wire::Hash> invented(std::size_t count, std::uint64_t salt) {
    std::vector<wire::Hash> hashes;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string text = std::to_string(salt) + " " + std::to_string(i);
      hashes.push_back(
          content_hash({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
    }
    return hashes;
  }
};

// Each session of a pool is told of its devices once, however many of them a Hello has.
TEST_F(Amplify, OneHelloOfManyDevices) {
  agent("a", 1, "board");
  client("c", 10);
  for (std::uint64_t session = 1; session <= 4; ++session) open("c", session);
  take<wire::SessionOpenedT>("c");
  auto hello = agent_hello(1, "board", "pynq");
  for (std::uint32_t i = 1; i < 64; ++i) {
    hello.devices.push_back(std::make_unique<wire::DeviceInfoT>(*hello.devices[0]));
    hello.devices.back()->index = i;
  }
  say("a", kAgent, std::move(hello));
  ASSERT_EQ(take<wire::WelcomeT>("a").size(), 2u);
  const auto told = take<wire::SessionOpenedT>("c");
  ASSERT_EQ(told.size(), 4u) << "one for each session";
  for (const auto& one : told) EXPECT_EQ(one.boards, 64u) << "of all of them";
}

TEST_F(Amplify, ADeviceThatSaysTooMuchOfItself) {
  for (const bool large : {false, true}) {
    auto hello = agent_hello(1, "board", "pynq");
    for (int i = 0; i < (large ? 80 : 20); ++i) {
      auto fact = std::make_unique<wire::NamedValueT>();
      fact->name = "fact " + std::to_string(i);
      fact->value = std::string(1000, 'x');
      hello.devices[0]->extra.push_back(std::move(fact));
    }
    say("a", kAgent, std::move(hello));
    EXPECT_EQ(take<wire::RejectT>("a").size(), large ? 1u : 0u);
  }
}

// Trials that wait for blobs keep their own client from being called silent, and no other; what
// they name is charged to its key.
TEST_F(Amplify, TrialsThatNameBlobsNobodyBrings) {
  agent("a", 1, "board");
  client("c", 10);
  client("d", 11);
  open("c", 1);
  const auto hashes = invented(limits::kRequestBlobs, 1);
  submit("c", 1, 1, hashes);
  ASSERT_EQ(core.usage().size(), 1u);
  EXPECT_GE(core.usage()[0].request_bytes, 300 * hashes.size());
  for (int i = 0; i < 6; ++i) {
    pass(milliseconds(300));
    beat("a", kAgent);
  }
  const auto clients = core.usage();
  ASSERT_EQ(clients.size(), 1u);
  EXPECT_EQ(clients[0].connections, 1u) << "the idle one is silent, the other uploads";
  EXPECT_EQ(clients[0].trials, 1u);
}

// A board may not answer in another clock's ticks: they would be taken for nanoseconds.
TEST_F(Amplify, AMeasurementByAnotherClock) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  submit("c", 5, 2);
  const auto leases = assigned("a");
  ASSERT_EQ(leases.size(), 2u);
  auto outcome = measured(1e-3);
  outcome.body.AsMeasurement()->clock = wire::ClockDomain::Instructions;
  done("a", leases[0], outcome);
  done("a", leases[1], measured(5));
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 2u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::Malformed);
  EXPECT_EQ(decode_outcome(completed[1].outcome)->body.AsMeasurement()->median, 5);
}

TEST_F(Amplify, AnAnswerLargerThanAConnectionTakes) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto leases = assigned("a");
  ASSERT_EQ(leases.size(), 1u);
  auto outcome = measured(5);
  auto& measurement = *outcome.body.AsMeasurement();
  measurement.samples.assign(limits::kSamples, wire::Sample(5, 1));
  measurement.launch_ticks.assign(limits::kLaunches, 1);
  measurement.read.assign(limits::kPieceBytes, 1);
  done("a", leases[0], outcome);
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_LT(completed[0].outcome.size(), 10'000u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::TooLarge);
}

// An account is the key's, whichever connection it is.
TEST_F(Amplify, WhoseBacklogItIs) {
  client("c", 10);
  EXPECT_EQ(core.account_of("c", "", ""), kClient.public_key);
  client("moved", 10);
  EXPECT_EQ(core.account_of("moved", "", ""), kClient.public_key);
  EXPECT_EQ(core.account_of("stranger", "stranger", kOther.public_key), kOther.public_key);
  agent("a", 1, "board");
  agent("b", 2, "another");
  EXPECT_NE(core.account_of("a", "", ""), core.account_of("b", "", "")) << "builders share keys";
  core.take_events();
  core.does_not_read("c", 1000);
  core.does_not_read("moved", 2000);
  const auto events = core.take_events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].kind, BrokerEventKind::QuotaHit);
  EXPECT_EQ(events[1].name, "client");
  EXPECT_EQ(events[1].bytes, 2000u);
}

}  // namespace
}  // namespace fettle::fleet
