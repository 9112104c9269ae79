// Sessions beside each other: priority, fair share, cancel, clients that vanish.
#include <set>

#include "tests/unit/broker_fixture.h"

namespace fettle::fleet {
namespace {

TEST_F(BrokerTest, PriorityThenFairShare) {
  client("c", 10);
  agent("a", 1, "board", {}, 1);
  open("c", 1);
  open("c", 2);
  open("c", 3, /*priority=*/5);
  submit("c", 1, 100);  // takes the only credit
  for (std::uint64_t i = 0; i < 3; ++i) submit("c", 1, 110 + i);
  for (std::uint64_t i = 0; i < 3; ++i) submit("c", 2, 210 + i);
  submit("c", 3, 300);
  std::vector<std::uint64_t> order;
  for (int i = 0; i < 8; ++i) {
    const auto assigns = take<wire::AssignT>("a");
    ASSERT_EQ(assigns.size(), 1u);
    order.push_back(trial_of(assigns[0]));
    done("a", assigns[0].lease, measured(1));
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{100, 300, 210, 110, 211, 111, 212, 112}));
}

TEST_F(BrokerTest, ASessionWithManyTrialsDoesNotStarveAnother) {
  client("c", 10);
  for (std::uint64_t i = 0; i < 4; ++i) {
    agent("a" + std::to_string(i), 1 + i, "board-" + std::to_string(i), {}, 1);
  }
  open("c", 1);
  open("c", 2);
  for (std::uint64_t i = 0; i < 40; ++i) submit("c", 1, 100 + i);
  for (std::uint64_t i = 0; i < 8; ++i) submit("c", 2, 200 + i);
  int second = 0, all = 0;
  for (int round = 0; round < 4; ++round) {
    for (std::uint64_t i = 0; i < 4; ++i) {
      const PeerId peer = "a" + std::to_string(i);
      for (const auto& assign : take<wire::AssignT>(peer)) {
        if (round > 0) {
          ++all;
          second += trial_of(assign) >= 200;
        }
        done(peer, assign.lease, measured(1));
      }
    }
  }
  EXPECT_EQ(all, 12);
  EXPECT_GE(second, 5);  // about half, though the other has five times as many
}

TEST_F(BrokerTest, AnotherBoardIsNeverUsedForAPinnedTrial) {
  agent("a", 1, "board-1");
  agent("b", 2, "board-2");
  client("c", 10);
  open("c", 5);
  for (std::uint64_t i = 0; i < 6; ++i) submit("c", 5, i, {}, "board-2");
  EXPECT_EQ(assigned("a").size(), 0u);
  auto leases = assigned("b");
  EXPECT_EQ(leases.size(), 2u);
  submit("c", 5, 50);
  EXPECT_EQ(assigned("a").size(), 1u) << "a trial for any board passes the pinned ones";
}

// "pynq-z2" is one of the boards "pynq": only that one takes its trials, within its credits.
TEST_F(BrokerTest, ABoardAnswersToItsOtherKeys) {
  for (const char* one : {"z1", "z2"}) {
    auto hello = agent_hello(one[1] - '0', one, "pynq", 1);
    hello.devices[0]->aliases = {std::string("pynq-") + one};
    say(one, kAgent, std::move(hello));
  }
  client("c", 10);
  open("c", 1, 0, kClient, "pynq-z2");
  const auto opened = take<wire::SessionOpenedT>("c");
  ASSERT_EQ(opened.size(), 1u);
  ASSERT_FALSE(opened[0].error);
  EXPECT_EQ(opened[0].boards, 1u);
  EXPECT_EQ(opened[0].board->id, "z2");
  EXPECT_EQ(opened[0].device->key, "pynq");
  open("c", 2);
  for (std::uint64_t trial = 0; trial < 3; ++trial) submit("c", 1, 10 + trial);
  EXPECT_TRUE(assigned("z1").empty());
  auto mine = take<wire::AssignT>("z2");
  ASSERT_EQ(mine.size(), 1u) << "one credit under both keys";
  submit("c", 2, 20);
  submit("c", 2, 21);
  EXPECT_EQ(assigned("z1").size(), 1u) << "the other board is free for any";
  // One row for both boards, and one for the key that trials wait for.
  say("c", kClient, wire::ListDevicesT{});
  const auto lists = take<wire::DeviceListT>("c");
  ASSERT_EQ(lists.size(), 1u);
  ASSERT_EQ(lists[0].keys.size(), 2u);
  EXPECT_EQ(lists[0].keys[0]->key, "pynq");
  EXPECT_EQ(lists[0].keys[0]->total, 2u);
  EXPECT_EQ(lists[0].keys[1]->key, "pynq-z2");
  EXPECT_EQ(lists[0].keys[1]->pending, 2u);
  EXPECT_EQ(lists[0].keys[1]->boards.size(), 1u);
  // The sessions of both keys take turns on it, and nothing is lost.
  std::set<std::uint64_t> served;
  while (!mine.empty()) {
    served.insert(trial_of(mine[0]));
    done("z2", mine[0].lease, measured(1));
    mine = take<wire::AssignT>("z2");
  }
  EXPECT_EQ(served, (std::set<std::uint64_t>{10, 11, 12, 21}));
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 4u);
  say("c", kClient, wire::ListDevicesT{});
  EXPECT_EQ(take<wire::DeviceListT>("c")[0].keys.size(), 1u);
  // Lost while it holds one: its key is gone with it.
  submit("c", 1, 30);
  EXPECT_EQ(assigned("z2").size(), 1u);
  for (int i = 0; i < 11; ++i) {
    beat("c", kClient);
    beat("z1", kAgent);
    pass(milliseconds(100));
  }
  open("c", 3, 0, kClient, "pynq-z2");
  const auto refused = take<wire::SessionOpenedT>("c");
  ASSERT_FALSE(refused.empty());
  ASSERT_TRUE(refused.back().error);
  EXPECT_EQ(refused.back().error->code, ErrorCode::NotFound);
}

TEST_F(BrokerTest, TrialsWithoutAnyBoardFailInTheEnd) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  for (int i = 0; i < 11; ++i) {
    beat("c", kClient);
    pass(milliseconds(100));
  }  // the board is gone
  submit("c", 5, 1);
  for (int i = 0; i < 49; ++i) {
    beat("c", kClient);
    pass(milliseconds(100));
  }
  EXPECT_TRUE(take<wire::CompletedT>("c").empty());
  for (int i = 0; i < 4; ++i) {
    beat("c", kClient);
    pass(milliseconds(100));
  }
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::DeviceLost);
}

TEST_F(BrokerTest, CancelDropsWhatWaitsAndLeavesWhatRuns) {
  agent("a", 1, "board", {}, 1);
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  submit("c", 5, 2);
  const auto leases = assigned("a");
  for (std::uint64_t trial : {1, 2}) {
    wire::CancelT cancel;
    cancel.session = 5;
    cancel.trial = trial;
    say("c", kClient, std::move(cancel));
  }
  auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].trial, 2u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::Canceled);
  done("a", leases.at(0), measured(1));
  completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].trial, 1u);
  EXPECT_TRUE(assigned("a").empty());
}

TEST_F(BrokerTest, ASilentClientsWorkIsDropped) {
  agent("a", 1, "board", {}, 1);
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  submit("c", 5, 2);
  const auto leases = assigned("a");
  for (int i = 0; i < 11; ++i) {
    beat("a", kAgent, leases);
    pass(milliseconds(100));
  }
  const auto releases = take<wire::ReleaseT>("a");
  ASSERT_GE(releases.size(), 1u);
  EXPECT_EQ(releases[0].lease, leases.at(0));
  EXPECT_EQ(core.device_list().keys.at(0)->pending, 0u);
  // The credit is in use until the agent lets go of the lease.
  client("d", 11);
  open("d", 6);
  submit("d", 6, 1);
  EXPECT_TRUE(assigned("a").empty());
  beat("a", kAgent, {});
  pass(milliseconds(200));
  beat("a", kAgent, {});
  EXPECT_EQ(assigned("a").size(), 1u);
}

TEST_F(BrokerTest, AClientThatDialsInAgainGetsWhatItMissed) {
  agent("a", 1, "board");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  submit("c", 5, 2);
  const auto leases = assigned("a");
  core.unreachable("c", now);
  done("a", leases.at(0), measured(1));  // nobody to tell
  client("c2", 10);
  open("c2", 5);
  submit("c2", 5, 1);
  submit("c2", 5, 2);
  auto completed = take<wire::CompletedT>("c2");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].trial, 1u);
  EXPECT_TRUE(assigned("a").empty()) << "the second is on its way: it is not measured twice";
  done("a", leases.at(1), measured(2));
  completed = take<wire::CompletedT>("c2");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].trial, 2u);
}

TEST_F(BrokerTest, ASessionHasBoardsOfOneKindOfTimeOnly) {
  const auto dial_in = [&](const PeerId& peer, std::uint64_t instance, bool emulated,
                           wire::ClockDomain clock) {
    auto hello = agent_hello(instance, "board-" + peer, "pynq", 2);
    hello.devices.at(0)->emulated = emulated;
    hello.devices.at(0)->clock = clock;
    say(peer, kAgent, std::move(hello));
  };
  dial_in("qemu", 1, true, wire::ClockDomain::Nanoseconds);
  dial_in("icount", 2, true, wire::ClockDomain::Instructions);
  client("c", 10);
  open("c", 5);
  const auto first = take<wire::SessionOpenedT>("c");
  EXPECT_EQ(first.at(0).boards, 1u);
  EXPECT_EQ(first.at(0).board->id, "board-qemu");
  dial_in("real", 3, false, wire::ClockDomain::Nanoseconds);
  for (std::uint64_t trial = 1; trial <= 6; ++trial) submit("c", 5, trial);
  EXPECT_EQ(take<wire::AssignT>("qemu").size(), 2u) << "as many as it can hold";
  EXPECT_EQ(take<wire::AssignT>("icount").size(), 0u);
  EXPECT_EQ(take<wire::AssignT>("real").size(), 0u);
  // Now that there is a board, the key means it; an emulated one goes by its pool's name.
  open("c", 6);
  EXPECT_EQ(take<wire::SessionOpenedT>("c").back().board->id, "board-real");
  open("c", 7, 0, kClient, "pynq (instructions)");
  EXPECT_EQ(take<wire::SessionOpenedT>("c").back().board->id, "board-icount");
}

TEST_F(BrokerTest, ADevicesKeyIsNotTheNameOfAPool) {
  auto hello = agent_hello(1, "board", "pynq (emulated)", 2);
  say("a", kAgent, std::move(hello));
  EXPECT_EQ(take<wire::RejectT>("a").size(), 1u);
}

// Agents keep the trials of two sessions apart by it: a client cannot choose another's.
TEST_F(BrokerTest, AnAssignSaysWhoseTrialItIs) {
  agent("a", 1, "board", {}, 10);
  client("one", 1);
  client("two", 2, kOther);
  open("one", 7);
  open("one", 8);
  open("two", 7, 0, kOther);
  submit("one", 7, 1);
  submit("one", 7, 2);
  submit("one", 8, 1);
  submit("two", 7, 1, {}, "", kOther);
  const auto assigns = take<wire::AssignT>("a");
  ASSERT_EQ(assigns.size(), 4u);
  std::set<std::uint64_t> sessions;
  for (const auto& assign : assigns) {
    EXPECT_NE(assign.session, 0u);
    sessions.insert(assign.session);
  }
  EXPECT_EQ(assigns[0].session, assigns[1].session);
  EXPECT_EQ(sessions.size(), 3u);
}

}  // namespace
}  // namespace fettle::fleet
