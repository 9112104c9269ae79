// The rule by which sessions share boards (host/fleet/scheduler.h), as its header states it.
#include <map>

#include "tests/unit/broker_fixture.h"

namespace fettle::fleet {
namespace {

// One place in one board's queue, and sessions that never run out of trials.
class SharingRule : public ::testing::Test {
 protected:
  void session(std::uint64_t number, int priority, int trials = 500) {
    for (int i = 0; i < trials; ++i) {
      auto trial = std::make_shared<Trial>();
      trial->session = {1, number};
      trial->device_key = "pynq";
      trial->client_key = "key";
      trial->priority = priority;
      if (auto placed = scheduler.enqueue(trial)) running.push_back(*placed);
    }
  }
  void board(std::uint64_t number, std::uint32_t credits = 1) {
    for (auto& placed : scheduler.add_device({number, 0}, {"pynq"}, "board", credits)) {
      running.push_back(std::move(placed));
    }
  }
  // The trial that has run longest ends; who got its place.
  std::uint64_t turn() {
    const Placement ended = running.front();
    running.erase(running.begin());
    auto next = scheduler.give_back(ended.device, "pynq", ended.trial->session);
    EXPECT_TRUE(next.has_value());
    if (!next) return 0;
    running.push_back(*next);
    return next->trial->session.session;
  }
  std::map<std::uint64_t, int> turns(int count) {
    std::map<std::uint64_t, int> out;
    for (int i = 0; i < count; ++i) ++out[turn()];
    return out;
  }

  Scheduler scheduler;
  std::vector<Placement> running;
};

TEST_F(SharingRule, SharesOfTwoPrioritiesAreAsStated) {
  const std::pair<int, int> cases[] = {{0, 1},   {1, 2},   {3, 4},   {9, 10},
                                       {15, 16}, {40, 16}, {200, 16}};
  for (const auto& [difference, stated] : cases) {
    scheduler = Scheduler();
    running.clear();
    session(1, -100);
    session(2, -100 + difference);
    board(1);
    turns(40);  // whoever was first
    const auto got = turns(10 * (stated + 1));
    EXPECT_EQ(got.at(1), 10) << difference;
    EXPECT_EQ(got.at(2), 10 * stated) << difference;
  }
}

// However many higher ones there are, and whatever comes anew.
TEST_F(SharingRule, NobodyWaitsLongerThanTheBound) {
  for (std::uint64_t low = 1; low <= 5; ++low) session(low, -100);
  for (std::uint64_t high = 11; high <= 20; ++high) session(high, 100);
  session(30, 0);
  board(1);
  std::map<std::uint64_t, int> last;
  const int bound = int(Scheduler::kMostPassedOver) + 16;  // and one of each other session
  std::uint64_t fresh = 1000;
  for (int i = 0; i < 400; ++i) {
    if (i % 3 == 0) session(fresh++, 100, 1);  // a new one of the highest, again and again
    last[turn()] = i;
    for (std::uint64_t low = 1; low <= 5; ++low) {
      EXPECT_LE(i - (last.count(low) ? last[low] : 0), bound) << "session " << low;
    }
  }
}

// New sessions of its own priority do not keep one from its turn either.
TEST_F(SharingRule, NewSessionsOfOnePriorityStarveNobody) {
  session(1, 0);
  session(2, 0);
  board(1);
  std::uint64_t fresh = 1000;
  int own = 0;
  for (int i = 0; i < 60; ++i) {
    session(fresh++, 0, 1);
    own += turn() <= 2;
  }
  EXPECT_GE(own, 2);
  session(3, 0, 1);
  for (int i = 0; i < 70; ++i) own += turn() == 3 ? 100 : 0;
  EXPECT_GE(own, 100) << "it waited behind those that came before it";
}

TEST_F(SharingRule, ALateSessionHasItsShareAtOnce) {
  session(1, 0);
  board(1, 4);
  board(2, 4);
  ASSERT_EQ(running.size(), 8u) << "the first has all there is";
  turns(50);
  session(2, 0);
  const auto first = turns(4);
  EXPECT_EQ(first.at(2), 4) << "every place that gets free, until both have as many";
  const auto then = turns(40);
  EXPECT_EQ(then.at(1), 20);
  EXPECT_EQ(then.at(2), 20);
}

TEST_F(SharingRule, WhatWasPassedOverIsToldAndForgottenWithItsTurn) {
  session(1, 0);
  session(2, 9);
  board(1);
  while (turn() != 1) {
  }
  EXPECT_EQ(scheduler.share_of("pynq", {1, 1}).passed_over, 0u);
  EXPECT_EQ(scheduler.share_of("pynq", {1, 1}).active, 1u);
  turns(7);
  EXPECT_EQ(scheduler.share_of("pynq", {1, 1}).passed_over, 7u);
  EXPECT_EQ(scheduler.share_of("pynq", {1, 2}).passed_over, 0u);
  EXPECT_EQ(scheduler.share_of("pynq", {1, 3}).waiting, 0u) << "there is none";
}

}  // namespace
}  // namespace fettle::fleet
