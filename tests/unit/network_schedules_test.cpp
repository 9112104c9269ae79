// Which schedule a layer gets, and where its tensors lie.
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "host/network/adapted.h"
#include "host/network/memory_plan.h"
#include "host/network/schedules.h"
#include "host/records/queries.h"
#include "tests/support/native_run.h"
#include "tests/unit/records_sample.h"

namespace fettle::network {
namespace {

space::Workload dense(int rows, int from, int to) {
  const auto workload = space::Workload::parse(R"({"op":"dense","batch":)" + std::to_string(rows) +
                                               R"(,"in_features":)" + std::to_string(from) +
                                               R"(,"out_features":)" + std::to_string(to) + "}");
  EXPECT_TRUE(workload) << workload.error().text();
  return *workload;
}

class NetworkSchedules : public ::testing::Test {
 protected:
  NetworkSchedules() : target(testing::native_target().target()) {}

  std::unique_ptr<const backend::Task> open(const space::Workload& workload) {
    auto task = backend::open_task(workload, target);
    EXPECT_TRUE(task) << task.error().text();
    return std::move(*task);
  }
  // A record of the workload with that configuration.
  void put(records::Database& database, const space::Workload& workload,
           const std::string& configuration, double nanoseconds, bool cold = false) {
    records::TuningRecord record = records::test::measured(n++, nanoseconds);
    record.outcome.body.AsMeasurement()->weights_bytes = cold ? 1000 : 0;
    record.workload = workload.canonical();
    record.workload_hash = workload.hash();
    record.title = workload.title();
    record.source = workload.source();
    record.target = target.canonical();
    record.configuration = configuration;
    const auto stored = database.insert(record);
    ASSERT_TRUE(stored) << stored.error().text();
  }
  records::Database database() {
    auto opened = records::Database::open(folder.file("a.db"));
    EXPECT_TRUE(opened) << opened.error().text();
    return std::move(*opened);
  }

  space::Target target;
  records::test::TempFolder folder;
  int n = 0;
};

TEST_F(NetworkSchedules, TheBestRecordGoesFirstThenSimilarOnesThenTheModels) {
  const space::Workload known = dense(4, 64, 96), other = dense(4, 128, 192);
  const auto task = open(known), another = open(other);
  std::mt19937_64 rng(3);
  const auto slow = task->space().random(rng), fast = task->space().random(rng);
  ASSERT_FALSE(slow == fast);
  auto db = database();
  put(db, known, task->space().to_json(slow), 9000);
  put(db, known, task->space().to_json(fast), 7000);
  const auto schedules = Schedules::of(db, target, "local");
  ASSERT_TRUE(schedules) << schedules.error().text();
  const auto own = schedules->of(known, *task, 1);
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].origin, wire::ScheduleOrigin::Tuned);
  EXPECT_EQ(own[0].configuration, fast);
  EXPECT_EQ(own[0].expected_ns, 7000);
  const auto similar = schedules->of(other, *another, 8);
  ASSERT_FALSE(similar.empty());
  EXPECT_EQ(similar[0].origin, wire::ScheduleOrigin::Similar);
  EXPECT_TRUE(another->space().contains(similar[0].configuration));
  EXPECT_EQ(similar[0].expected_ns, 0);
  const auto none = Schedules(target).of(other, *another, 8);
  ASSERT_GT(none.size(), 1u);
  EXPECT_EQ(none[0].origin, wire::ScheduleOrigin::Untuned);
  const auto again = Schedules(target).of(other, *another, 8);
  ASSERT_EQ(again.size(), none.size()) << "the same each time";
  for (std::size_t i = 0; i < none.size(); ++i) {
    EXPECT_EQ(again[i].configuration, none[i].configuration);
  }
  const auto of_another_key = Schedules::of(db, target, "rk3399");
  ASSERT_TRUE(of_another_key);
  EXPECT_EQ(of_another_key->of(known, *task, 1)[0].origin, wire::ScheduleOrigin::Untuned);
}

TEST_F(NetworkSchedules, TimesWithColdWeightsGoBeforeFasterOnesInTheCaches) {
  const space::Workload known = dense(4, 64, 96);
  const auto task = open(known);
  std::mt19937_64 rng(5);
  const auto in_caches = task->space().random(rng), cold = task->space().random(rng);
  ASSERT_FALSE(in_caches == cold);
  auto db = database();
  put(db, known, task->space().to_json(in_caches), 7000);
  put(db, known, task->space().to_json(cold), 9000, true);
  const auto schedules = Schedules::of(db, target, "local");
  ASSERT_TRUE(schedules) << schedules.error().text();
  const auto own = schedules->of(known, *task, 2);
  ASSERT_EQ(own.size(), 1u) << "the two are not compared";
  EXPECT_EQ(own[0].configuration, cold);
  EXPECT_EQ(own[0].expected_ns, 9000);

  records::Filter filter;
  for (const bool wanted : {true, false}) {
    filter.cold_weights = wanted;
    const auto history = records::history(db, filter);
    ASSERT_TRUE(history) << history.error().text();
    ASSERT_EQ(history->size(), 1u);
    EXPECT_EQ(history->front().measurement()->weights_bytes, wanted ? 1000u : 0u);
  }
}

TEST_F(NetworkSchedules, OptionsThatAreNearestAreTaken) {
  const space::SearchSpace from({{"tiled", {{"tile", {{4, 16}, {8, 8}}}, {"unroll", {{16}}}}}});
  const space::SearchSpace to(
      {{"rows", {{"tile", {{1}}}}},
       {"tiled", {{"tile", {{64, 1}, {6, 12}, {3, 24}}}, {"unroll", {{0}, {20}}}}}});
  const std::string text = from.to_json({0, {0, 0}});
  const auto configuration = adapted(to, text);
  ASSERT_TRUE(configuration);
  EXPECT_EQ(configuration->sketch, 1u);
  EXPECT_EQ(to.value(*configuration, "tile"), (space::KnobValue{6, 12}));
  EXPECT_EQ(to.value(*configuration, "unroll"), (space::KnobValue{20}));
  EXPECT_FALSE(adapted(to, R"({"sketch":"other","knobs":{}})"));
  EXPECT_FALSE(adapted(to, "{"));
  const space::SearchSpace strict({{"tiled",
                                    {{"tile", {{6, 12}}}, {"unroll", {{0}}}},
                                    {{"never", {"tile"}, [](auto) { return false; }}}}});
  EXPECT_FALSE(adapted(strict, text));
}

TEST(NetworkMemoryPlan, NothingAliveTogetherSharesAByte) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<LiveTensor> tensors(1 + random() % 40);
    for (LiveTensor& one : tensors) {
      one.bytes = 1 + random() % 5000;
      one.alignment = std::uint64_t{64} << (random() % 3);
      one.first = random() % 20;
      one.last = one.first + random() % 5;
    }
    const MemoryPlan plan = plan_memory(tensors);
    const BufferPlan whole = plan_buffers(tensors);
    EXPECT_EQ(whole.live_bytes, plan.live_bytes);
    EXPECT_GE(plan.arena_bytes, plan.live_bytes);
    for (std::size_t a = 0; a < tensors.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % tensors[a].alignment, 0u);
      EXPECT_LE(plan.offsets[a] + tensors[a].bytes, plan.arena_bytes);
      for (std::size_t b = 0; b < a; ++b) {
        if (tensors[a].first > tensors[b].last || tensors[b].first > tensors[a].last) continue;
        EXPECT_TRUE(plan.offsets[a] + tensors[a].bytes <= plan.offsets[b] ||
                    plan.offsets[b] + tensors[b].bytes <= plan.offsets[a]);
        EXPECT_NE(whole.of_tensor[a], whole.of_tensor[b]);
      }
      EXPECT_GE(whole.buffers[whole.of_tensor[a]].bytes, tensors[a].bytes);
      EXPECT_GE(whole.buffers[whole.of_tensor[a]].alignment, tensors[a].alignment);
    }
  }
}

// One that is read through an image of its buffer is in none that is longer than images are.
TEST(NetworkMemoryPlan, WhatImagesReadHasNoLargerCompany) {
  for (const std::uint64_t most : {std::uint64_t{1024}, std::uint64_t{4096}}) {
    const std::vector<LiveTensor> chain = {
        {4096, 64, 0, 0}, {1024, 64, 1, 1, most}, {512, 64, 2, 2, 1024}};
    const BufferPlan plan = plan_buffers(chain);
    EXPECT_EQ(plan.buffers.size(), 2u);
    EXPECT_EQ(plan.of_tensor[1] == plan.of_tensor[0], most == 4096) << most;
    for (std::size_t t = 0; t < chain.size(); ++t) {
      EXPECT_LE(plan.buffers[plan.of_tensor[t]].bytes, chain[t].most_bytes);
    }
  }
}

// Some live long, so that no plan reaches what is alive at once and the search goes on.
std::vector<LiveTensor> long_network(std::size_t count) {
  std::mt19937 random(7);
  std::vector<LiveTensor> tensors(count);
  for (std::size_t i = 0; i < count; ++i) {
    LiveTensor& one = tensors[i];
    one.bytes = 64 * (1 + random() % 4000);
    one.first = i / 2, one.last = i / 2 + i % 2;
    if (random() % 5 == 0) one.last += random() % count;
  }
  return tensors;
}

TEST(NetworkMemoryPlan, ThousandsOfTensorsTakeSeconds) {
  const std::vector<LiveTensor> tensors = long_network(5000);
  const std::clock_t begin = std::clock();
  const MemoryPlan plan = plan_memory(tensors);
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 60) << "processor time, in seconds";
  EXPECT_GT(plan.arena_bytes, plan.live_bytes) << "else nothing was looked for";
  EXPECT_LT(plan.arena_bytes, plan.live_bytes + plan.live_bytes / 10);
}

TEST(NetworkMemoryPlan, IsTheSameEachTimeAndWhatIsKnownOnceStopped) {
  const std::vector<LiveTensor> tensors = long_network(300);
  const MemoryPlan plan = plan_memory(tensors);
  EXPECT_EQ(plan_memory(tensors).offsets, plan.offsets);
  std::stop_source stop;
  stop.request_stop();
  const MemoryPlan first = plan_memory(tensors, stop.get_token());
  EXPECT_EQ(first.live_bytes, plan.live_bytes);
  EXPECT_GT(first.arena_bytes, plan.arena_bytes);
  EXPECT_EQ(first.offsets.size(), tensors.size());
}

TEST(NetworkMemoryPlan, AChainNeedsTwoNeighbours) {
  const std::vector<LiveTensor> chain = {
      {640, 64, 0, 1}, {1280, 64, 1, 2}, {320, 64, 2, 3}, {640, 64, 3, 4}};
  const MemoryPlan plan = plan_memory(chain);
  EXPECT_EQ(plan.live_bytes, 1920u);
  EXPECT_EQ(plan.arena_bytes, 1920u);
  EXPECT_EQ(plan_memory({}).arena_bytes, 0u);
}

}  // namespace
}  // namespace fettle::network
