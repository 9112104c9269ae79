// Task schedulers: round robin, and the gradient on known curves.
#include <gtest/gtest.h>

#include "host/tune/searcher.h"
#include "host/tune/trial_shares.h"

namespace fettle::tune {
namespace {

TEST(RoundRobin, TakesTurnsAndSkipsExhaustedTasks) {
  auto scheduler = make_round_robin();
  std::vector<TaskState> tasks(3);
  std::vector<std::size_t> turns;
  for (int i = 0; i < 4; ++i) turns.push_back(*scheduler->next(tasks));
  EXPECT_EQ(turns, (std::vector<std::size_t>{0, 1, 2, 0}));
  tasks[1].exhausted = true;
  EXPECT_EQ(scheduler->next(tasks), 2u);
  EXPECT_EQ(scheduler->next(tasks), 0u);
  tasks[0].exhausted = tasks[2].exhausted = true;
  EXPECT_EQ(scheduler->next(tasks), std::nullopt);
}

TEST(RoundRobin, TasksLeftBehindCatchUpFirst) {
  auto scheduler = make_round_robin();
  std::vector<TaskState> tasks(3);
  tasks[0].proposed = tasks[2].proposed = 5;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(scheduler->next(tasks), 1u);
    ++tasks[1].proposed;
  }
  EXPECT_EQ(scheduler->next(tasks), 2u);
}

// Fewer trials than tasks: one each, as far as they go.
TEST(TrialShares, NoTaskTakesTwoWhereThereAreFewerThanTasks) {
  std::vector<TaskState> tasks(24);
  const std::vector<bool> waits(tasks.size());
  for (std::uint32_t trial = 0; trial < 23; ++trial) {
    const auto seen = states_by_shares(tasks, waits, 23, trial);
    for (std::size_t i = 0; i < tasks.size(); ++i) EXPECT_EQ(seen[i].exhausted, i < trial) << i;
    ++tasks[trial].proposed;
  }
}

TEST(RoundRobin, PassesOverWhatIsNotReadyWhileOthersAre) {
  auto scheduler = make_round_robin();
  std::vector<TaskState> tasks(3);
  tasks[0].ready = false;
  EXPECT_EQ(scheduler->next(tasks), 1u);
  tasks[1].ready = tasks[2].ready = false;
  EXPECT_TRUE(scheduler->next(tasks).has_value());
}

// A session on known curves: best(n) = floor * (1 + gap / n).
std::vector<std::uint32_t> shares(std::vector<TaskState> tasks, const std::vector<double>& floors,
                                  const std::vector<double>& gaps, int trials) {
  auto scheduler = make_gradient(1);
  for (int i = 0; i < trials; ++i) {
    const std::size_t next = scheduler->next(tasks).value();
    TaskState& task = tasks[next];
    ++task.proposed;
    ++task.finished;
    task.best_nanoseconds = floors[next] * (1 + gaps[next] / task.finished);
  }
  std::vector<std::uint32_t> result;
  for (const TaskState& task : tasks) result.push_back(task.finished);
  return result;
}

std::vector<TaskState> kinds(std::size_t count) {
  std::vector<TaskState> tasks(count);
  for (std::size_t i = 0; i < count; ++i) tasks[i].kind = std::to_string(i);
  return tasks;
}

TEST(Gradient, EveryTaskHasItsFirstTrialsAndTheLargestTimesGetMost) {
  const auto seen = shares(kinds(3), {1e6, 1e4, 1e5}, {5, 5, 5}, 2000);
  EXPECT_GT(seen[0], seen[2]);
  EXPECT_GT(seen[2], seen[1]);
  EXPECT_GT(seen[0], 1000u);
  // A hundredth of the time is not a hundredth of the trials.
  EXPECT_GT(seen[1], 100u);
}

TEST(Gradient, WeightsCount) {
  std::vector<TaskState> tasks = kinds(2);
  tasks[1].weight = 10;
  const auto seen = shares(tasks, {1e5, 1e5}, {5, 5}, 2000);
  EXPECT_GT(seen[1], 2 * seen[0]);
}

// 0 can still become twice as fast; 1 and 2 take longer, but lie at the roofline.
TEST(Gradient, ATaskAtItsRooflineGetsNoMore) {
  std::vector<TaskState> tasks = kinds(3);
  for (TaskState& task : tasks) task.least_nanoseconds = 1e6;
  tasks[0].least_nanoseconds = 5e4;
  const auto seen = shares(tasks, {1e5, 1.02e6, 0.98e6}, {1, 0, 0}, 1000);
  EXPECT_EQ(seen[1], 16u);
  EXPECT_EQ(seen[2], 16u);
  EXPECT_EQ(seen[0], 968u);
}

TEST(Gradient, OneThatIsReadyGoesFirstButNotOneThatIsDone) {
  std::vector<TaskState> tasks = kinds(3);
  for (TaskState& task : tasks) {
    task.proposed = task.finished = 20;
    task.best_nanoseconds = 1e6;
  }
  tasks[0].best_nanoseconds = tasks[0].least_nanoseconds = 1e5;
  tasks[1].ready = false;
  for (int i = 0; i < 40; ++i) EXPECT_EQ(make_gradient(i)->next(tasks), 2u);
  tasks[2].ready = false;
  for (int i = 0; i < 40; ++i) EXPECT_NE(make_gradient(i)->next(tasks), 0u);
}

TEST(Gradient, OneFarBehindItsShareIsWaitedFor) {
  std::vector<TaskState> tasks = kinds(2);
  for (TaskState& task : tasks) task.best_nanoseconds = 1e6;
  tasks[0].proposed = tasks[0].finished = 400;
  tasks[1].proposed = tasks[1].finished = 40;
  tasks[1].ready = false;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(make_gradient(i)->next(tasks), 1u);
  tasks[1].proposed = tasks[1].finished = 180;  // no longer far behind
  for (int i = 0; i < 20; ++i) EXPECT_EQ(make_gradient(i)->next(tasks), 0u);
}

TEST(Gradient, WhereAllAreDoneTrialsGoOn) {
  std::vector<TaskState> tasks = kinds(2);
  for (TaskState& task : tasks) task.least_nanoseconds = 1e6;
  const auto seen = shares(tasks, {1e6, 1e6}, {0, 0}, 400);
  for (std::uint32_t count : seen) EXPECT_GT(count, 100u);
}

// The nearer to the roofline, the less a trial can be worth.
TEST(Gradient, TrialsGoWhereThereIsRoomBelow) {
  std::vector<TaskState> tasks = kinds(2);
  tasks[0].least_nanoseconds = 0.9e6;
  tasks[1].least_nanoseconds = 0.2e6;
  const auto seen = shares(tasks, {1e6, 1e6}, {0, 0}, 1000);
  EXPECT_GT(seen[1], 3 * seen[0]);
}

// A time well below the roofline shows that this one does not hold.
TEST(Gradient, ARooflineThatWasBeatenBoundsNothing) {
  std::vector<TaskState> tasks = kinds(2);
  tasks[0].least_nanoseconds = 2e6;
  const auto seen = shares(tasks, {1e6, 1e6}, {0, 0}, 400);
  EXPECT_GT(seen[0], 100u);
}

TEST(Gradient, ATaskFarBehindItsLikeIsTriedHarder) {
  std::vector<TaskState> tasks = kinds(3);
  tasks[0].kind = tasks[1].kind = "conv2d";
  for (TaskState& task : tasks) task.operations = 1e8;
  // Of equal size and time, but 0 could be as fast as 1, which is 20 times as fast.
  tasks[2].operations = 0;
  const auto seen = shares(tasks, {1e6, 5e4, 1e6}, {0.01, 0.01, 0.01}, 2000);
  EXPECT_GT(seen[0], 2 * seen[2]);
}

// A 7x7 layer beside 3x3 ones that Winograd's algorithm makes three times as fast.
TEST(Gradient, ATaskThatCannotFollowItsLikeDoesNotTakeAll) {
  std::vector<TaskState> tasks = kinds(4);
  for (TaskState& task : tasks) task.kind = "conv2d", task.operations = 1e8;
  const auto seen = shares(tasks, {2e6, 5e5, 5e5, 5e5}, {0.01, 0.01, 0.01, 0.01}, 4000);
  EXPECT_LT(seen[0], 3600u);
  for (std::uint32_t count : seen) EXPECT_GT(count, 100u);
}

// A network's light layers, which a gradient alone leaves at their first trials.
TEST(Gradient, LightTasksHaveThreeQuartersOfTheMeanShareWhileTheyImprove) {
  const auto seen = shares(kinds(4), {1e6, 1e6, 1e4, 1e3}, {5, 5, 5, 5}, 400);
  for (std::uint32_t count : seen) EXPECT_GE(count, 74u);
  EXPECT_GT(seen[0] + seen[1], 200u);
}

// Two that lie at the roofline count for nothing in what is the others' share.
TEST(Gradient, WhatDoneTasksDoNotNeedIsShared) {
  std::vector<TaskState> tasks = kinds(4);
  for (std::size_t i : {0u, 1u}) tasks[i].least_nanoseconds = 1e6;
  const auto seen = shares(tasks, {1e6, 1e6, 1e5, 1e3}, {0, 0, 5, 5}, 600);
  EXPECT_EQ(seen[0] + seen[1], 32u);
  EXPECT_GE(seen[3], 200u);
}

TEST(Gradient, ALightTaskThatStandsStillIsLeftAlone) {
  const auto seen = shares(kinds(4), {1e6, 1e6, 1e6, 1e3}, {5, 5, 5, 0}, 2000);
  EXPECT_GE(seen[3], 64u);
  EXPECT_LT(seen[3], 160u);  // its half of the mean would be 250; draws of any task add some
}

TEST(Gradient, TasksLeftBehindByAnEarlierSessionCatchUpFirst) {
  std::vector<TaskState> tasks = kinds(2);
  tasks[0].proposed = tasks[0].finished = 200;
  tasks[0].best_nanoseconds = 1e9;
  auto scheduler = make_gradient(3);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(scheduler->next(tasks), 1u);
    ++tasks[1].proposed;
  }
  tasks[0].exhausted = tasks[1].exhausted = true;
  EXPECT_EQ(scheduler->next(tasks), std::nullopt);
}

TEST(Scheduler, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  EXPECT_TRUE(make_scheduler("round-robin", 0).ok());
  EXPECT_TRUE(make_scheduler("gradient", 0).ok());
  EXPECT_EQ(make_scheduler("fair", 0).error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace fettle::tune
