// Leases: credits, results that count once, boards that go silent or come back.
#include <random>
#include <set>

#include "tests/unit/broker_fixture.h"

namespace fettle::fleet {
namespace {

TEST_F(BrokerTest, NeverMoreLeasesThanCredits) {
  agent("a", 1, "board", {}, 3);
  client("c", 10);
  open("c", 5);
  for (std::uint64_t trial = 0; trial < 20; ++trial) submit("c", 5, trial);
  auto leases = assigned("a");
  EXPECT_EQ(leases.size(), 3u);
  for (int i = 0; i < 17; ++i) {
    done("a", leases.front(), measured(5));
    leases.erase(leases.begin());
    const auto next = assigned("a");
    EXPECT_EQ(next.size(), 1u);
    leases.insert(leases.end(), next.begin(), next.end());
  }
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 17u);
}

// Found by the fleet's simulator: an agent's words, unread while the broker stood still, may be
// older than its lease, however long that took.
TEST_F(BrokerTest, ALeaseOnItsWayOutlastsABrokerThatStandsStill) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto leases = assigned("a");
  ASSERT_EQ(leases.size(), 1u);
  now += milliseconds(60'000);
  core.stood_still(milliseconds(60'000));
  beat("a", kAgent);  // said before the assignment arrived
  EXPECT_TRUE(assigned("a").empty()) << "not given a second time";
  agent("a", 1, "board");  // nor by a hello of that time
  EXPECT_TRUE(assigned("a").empty());
  done("a", leases[0], measured(5));
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 1u);
}

// Boards' words are unread, too: that no board was there for long is not known yet.
TEST_F(BrokerTest, StandingStillIsNoTimeWithoutBoards) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  core.unreachable("a", now);
  submit("c", 5, 1);
  pass(milliseconds(200));  // without a board since here
  now += milliseconds(60'000);
  core.stood_still(milliseconds(60'000));
  pass(milliseconds(0));
  EXPECT_TRUE(take<wire::CompletedT>("c").empty()) << "failed while its board's hello was unread";
  agent("b", 1, "board");
  EXPECT_EQ(assigned("b").size(), 1u);
}

TEST_F(BrokerTest, AResultCountsOnce) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto leases = assigned("a");
  ASSERT_EQ(leases.size(), 1u);
  done("a", leases[0], measured(5));
  done("a", leases[0], measured(6));
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(decode_outcome(completed[0].outcome)->body.AsMeasurement()->median, 5);
  EXPECT_EQ(completed[0].attempt, 1u);
  EXPECT_EQ(core.counters().stale_results.load(), 1u);
}

TEST_F(BrokerTest, AnotherAgentCannotAnswerALease) {
  agent("a", 1, "board-1");
  agent("b", 2, "board-2");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  auto leases = assigned("a");
  const PeerId other = leases.empty() ? "a" : "b";
  if (leases.empty()) leases = assigned("b");
  done(other, leases.at(0), measured(1));
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
}

TEST_F(BrokerTest, ASilentBoardsTrialGoesToAnotherAndItsLateResultIsDropped) {
  agent("a", 1, "board-1");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto old = assigned("a");
  agent("b", 2, "board-2");
  for (int i = 0; i < 11; ++i) {
    beat("b", kAgent, assigned("b"));
    beat("c", kClient);
    pass(milliseconds(100));
  }
  EXPECT_EQ(core.counters().requeued.load(), 1u);
  done("a", old.at(0), measured(5));
  EXPECT_EQ(take<wire::HelloNeededT>("a").size(), 1u);  // it is unknown now
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
  // Dialling in again with the old lease: it is told to drop it.
  agent("a", 1, "board-1", {old[0]});
  const auto releases = take<wire::ReleaseT>("a");
  ASSERT_EQ(releases.size(), 1u);
  EXPECT_EQ(releases[0].lease, old[0]);
  done("a", old[0], measured(5));
  EXPECT_EQ(core.counters().stale_results.load(), 1u);
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
}

TEST_F(BrokerTest, LostThreeTimesIsDeviceLost) {
  client("c", 10);
  agent("a0", 1, "board");
  open("c", 5);
  submit("c", 5, 1);
  for (std::uint64_t round = 0; round < 3; ++round) {
    const std::string peer = "a" + std::to_string(round);
    EXPECT_EQ(assigned(peer).size(), 1u) << "attempt " << round + 1;
    EXPECT_TRUE(take<wire::CompletedT>("c").empty());
    for (int i = 0; i < 11; ++i) {
      beat("c", kClient);
      pass(milliseconds(100));
    }
    agent("a" + std::to_string(round + 1), 100 + round, "board");
  }
  EXPECT_TRUE(assigned("a3").empty()) << "no fourth attempt";
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::DeviceLost);
  EXPECT_EQ(completed[0].attempt, 3u);
  EXPECT_EQ(core.counters().requeued.load(), 2u);
  EXPECT_EQ(core.counters().device_lost.load(), 1u);
}

TEST_F(BrokerTest, ARestartedAgentOfTheSameBoardIsFoundOutEarly) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  ASSERT_EQ(assigned("a").size(), 1u);
  agent("b", 2, "board");  // another instance with the same key and board
  beat("c", kClient);
  pass(milliseconds(150));
  EXPECT_TRUE(assigned("b").empty());
  beat("c", kClient);
  pass(milliseconds(60));  // two heartbeats passed, long before silence
  EXPECT_EQ(assigned("b").size(), 1u);
}

TEST_F(BrokerTest, TwoLiveAgentsOfOneBoardLiveOn) {
  agent("a", 1, "board");
  agent("b", 2, "board");
  for (int i = 0; i < 30; ++i) {
    beat("a", kAgent);
    beat("b", kAgent);
    pass(milliseconds(100));
  }
  EXPECT_EQ(core.device_list().keys.at(0)->total, 2u);
}

TEST_F(BrokerTest, ALeaseThatAnAgentDoesNotListComesBackAfterItsGrace) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto first = assigned("a");
  ASSERT_EQ(first.size(), 1u);
  beat("a", kAgent);  // sent before the Assign arrived: believed
  EXPECT_TRUE(assigned("a").empty());
  for (int i = 0; i < 12; ++i) {
    beat("a", kAgent, {});
    beat("c", kClient);
    pass(milliseconds(100));
  }
  const auto second = assigned("a");
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NE(second[0], first[0]);
  done("a", first[0], measured(1));
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
  done("a", second[0], measured(2));
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].attempt, 2u);
}

TEST_F(BrokerTest, AnAgentThatDialsInAgainKeepsWhatItHolds) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  submit("c", 5, 2);
  submit("c", 5, 3);
  const auto leases = assigned("a");
  ASSERT_EQ(leases.size(), 2u);
  agent("a-again", 1, "board", {leases[0]});  // a new connection; the second Assign was lost
  const auto again = assigned("a-again");
  EXPECT_EQ(again.size(), 1u) << "one credit is free, one still in use";
  done("a-again", leases[0], measured(1));
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 1u);
}

// An agent says hello every second while nothing answers; a network that was cut delivers
// them all at once.
TEST_F(BrokerTest, HellosThatCameTogetherCostNoAttempt) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto leases = assigned("a");
  ASSERT_EQ(leases.size(), 1u);
  for (int i = 0; i < 4; ++i) agent("a", 1, "board");  // written before the Assign arrived
  EXPECT_TRUE(assigned("a").empty());
  done("a", leases[0], measured(1));
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].attempt, 1u);
}

TEST_F(BrokerTest, AnAgentMayComeBackWithFewerDevices) {
  auto hello = agent_hello(1, "board", "other", 1);
  auto second = agent_hello(1, "board", "pynq", 1);
  second.devices[0]->index = 1;
  hello.devices.push_back(std::move(second.devices[0]));
  say("a", kAgent, std::move(hello));
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto leases = assigned("a");
  ASSERT_EQ(leases.size(), 1u);
  auto fewer = agent_hello(1, "board", "other", 1);
  fewer.leases = leases;
  say("a", kAgent, std::move(fewer));
  done("a", leases[0], measured(1));
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 1u);
}

TEST_F(BrokerTest, AnotherInstanceOnOneConnectionEndsTheFirst) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto first = assigned("a");
  agent("a", 2, "board");
  const auto second = assigned("a");
  ASSERT_EQ(second.size(), 1u);
  EXPECT_NE(first.at(0), second[0]);
  EXPECT_EQ(core.device_list().keys.at(0)->total, 1u);
  client("c", 11);  // the client's sessions end in the same way
  EXPECT_EQ(take<wire::ReleaseT>("a").size(), 1u);
  submit("c", 5, 2);
  EXPECT_EQ(take<wire::SessionOpenedT>("c").back().error->code, ErrorCode::NotFound);
}

// A fleet in chaos: agents die, dial in again, answer late, twice or not at all;
// clients reconnect. Whatever happens: credits hold, and each trial ends once.
TEST_F(BrokerTest, ChaosLosesNothingAndCountsNothingTwice) {
  const std::uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
  struct Fake {
    std::uint64_t instance;
    PeerId peer;
    std::vector<LeaseId> held, old;
  };
  std::vector<Fake> fakes(5);
  std::uint64_t next_instance = 1;
  int next_peer = 0;
  const auto dial = [&](std::size_t i) {
    fakes[i].peer = "a" + std::to_string(next_peer++);
    agent(fakes[i].peer, fakes[i].instance, "board-" + std::to_string(i), fakes[i].held);
  };
  for (std::size_t i = 0; i < fakes.size(); ++i) {
    fakes[i].instance = next_instance++;
    dial(i);
  }
  PeerId peer = "c0";
  client(peer, 10);
  open(peer, 5);
  std::set<std::uint64_t> in_flight;
  std::map<std::uint64_t, int> ended;
  std::uint64_t next_trial = 0;
  for (int step = 0; step < 6000; ++step) {
    const bool winding_down = step >= 5000;
    if (!winding_down && in_flight.size() < 40 && chance(60)) {
      in_flight.insert(next_trial);
      submit(peer, 5, next_trial++);
    }
    if (!winding_down && chance(1)) {  // the client's connection breaks
      core.unreachable(peer, now);
      peer = "c" + std::to_string(step);
      client(peer, 10);
      open(peer, 5);
      for (std::uint64_t trial : in_flight) submit(peer, 5, trial);
    }
    for (std::size_t i = 0; i < fakes.size(); ++i) {
      Fake& fake = fakes[i];
      for (const auto& assign : take<wire::AssignT>(fake.peer)) fake.held.push_back(assign.lease);
      for (const auto& release : take<wire::ReleaseT>(fake.peer))
        std::erase(fake.held, release.lease);
      ASSERT_LE(fake.held.size(), 2u) << "credits exceeded in step " << step;
      if (!take<wire::HelloNeededT>(fake.peer).empty()) dial(i);
      if (chance(50) && !fake.held.empty()) {
        const LeaseId lease = fake.held.front();
        fake.held.erase(fake.held.begin());
        fake.old.push_back(lease);
        done(fake.peer, lease, measured(1));
      }
      if (chance(5) && !fake.old.empty()) done(fake.peer, fake.old.back(), measured(2));
      if (!winding_down && chance(1)) {  // dies and starts anew
        fake.instance = next_instance++;
        fake.old.insert(fake.old.end(), fake.held.begin(), fake.held.end());
        fake.held.clear();
        if (chance(50)) core.unreachable(fake.peer, now);
        dial(i);
      } else if (!winding_down && chance(1)) {  // only its connection breaks
        dial(i);
      }
      if (chance(30)) beat(fake.peer, kAgent, fake.held);
    }
    if (chance(50)) beat(peer, kClient);
    if (chance(40)) pass(milliseconds(20));
    for (const auto& completed : take<wire::CompletedT>(peer)) {
      ++ended[completed.trial];
      EXPECT_EQ(in_flight.erase(completed.trial), 1u)
          << "trial " << completed.trial << " ended twice";
      const ErrorCode code = failure_of(completed);
      EXPECT_TRUE(code == ErrorCode::Internal || code == ErrorCode::DeviceLost) << name_of(code);
    }
  }
  EXPECT_TRUE(in_flight.empty()) << in_flight.size() << " trials never ended";
  EXPECT_EQ(ended.size(), next_trial);
  std::printf("%llu trials, %llu requeued, %llu lost, %llu stale results dropped\n",
              static_cast<unsigned long long>(next_trial),
              static_cast<unsigned long long>(core.counters().requeued.load()),
              static_cast<unsigned long long>(core.counters().device_lost.load()),
              static_cast<unsigned long long>(core.counters().stale_results.load()));
  EXPECT_GT(core.counters().requeued.load(), 0u);
}

}  // namespace
}  // namespace fettle::fleet
