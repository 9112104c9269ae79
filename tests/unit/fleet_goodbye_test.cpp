// Peers of the broker that say that they end.
#include "tests/unit/broker_fixture.h"

namespace fettle::fleet {
namespace {

TEST_F(BrokerTest, WhatAnEndingAgentHeldGoesToAnotherAtOnce) {
  agent("a", 1, "board-1");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  EXPECT_EQ(assigned("a").size(), 1u);
  agent("b", 2, "board-2");
  say("a", kAgent, wire::GoodbyeT{});
  const auto again = assigned("b");
  ASSERT_EQ(again.size(), 1u);
  done("b", again[0], measured(5));
  EXPECT_EQ(take<wire::CompletedT>("c").size(), 1u);
  EXPECT_EQ(core.agents(), 1u);
  // A board that ends by itself is not to be switched off and on.
  for (int i = 0; i < 11; ++i) {
    beat("b", kAgent);
    pass(milliseconds(100));
  }
  for (const auto& change : core.take_board_changes()) EXPECT_FALSE(change.silent);
  say("a", kAgent, wire::GoodbyeT{});
  EXPECT_EQ(take<wire::HelloNeededT>("a").size(), 1u) << "it is nobody now";
}

// As where a whole fleet is stopped, one board after another.
TEST_F(BrokerTest, AStoppedBoardCostsNoAttempt) {
  client("c", 10);
  agent("a0", 1, "board");
  open("c", 5);
  submit("c", 5, 1);
  const auto stop_boards = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t round = from; round < to; ++round) {
      const std::string peer = "a" + std::to_string(round);
      ASSERT_EQ(assigned(peer).size(), 1u) << round;
      say(peer, kAgent, wire::GoodbyeT{});
      EXPECT_TRUE(take<wire::CompletedT>("c").empty()) << round;
      agent("a" + std::to_string(round + 1), 100 + round, "board");
    }
  };
  stop_boards(0, 6);
  // One that only ever says Hello and Goodbye holds a trial for so long, and no longer.
  stop_boards(6, kMostSpared + 2);
  const std::string last = "a" + std::to_string(kMostSpared + 2);
  ASSERT_EQ(assigned(last).size(), 1u);
  say(last, kAgent, wire::GoodbyeT{});
  const auto completed = take<wire::CompletedT>("c");
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(failure_of(completed[0]), ErrorCode::DeviceLost);
}

TEST_F(BrokerTest, AnEndingClientsTrialsEndWithIt) {
  agent("a", 1, "board-1");
  client("c", 10);
  open("c", 5);
  submit("c", 5, 1);
  const auto held = assigned("a");
  say("c", kClient, wire::GoodbyeT{});
  const auto released = take<wire::ReleaseT>("a");
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].lease, held.at(0));
  submit("c", 5, 2);
  EXPECT_EQ(take<wire::HelloNeededT>("c").size(), 1u);
}

}  // namespace
}  // namespace fettle::fleet
