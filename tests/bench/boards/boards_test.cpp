// A simulated board's device, and the accounting of `fettle-bench boards`.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "host/fleet/pool.h"
#include "tests/bench/boards/boards_bench.h"
#include "tests/bench/boards/simulated_device.h"
#include "tests/unit/records_sample.h"

namespace fettle::bench {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

wire::DeviceInfoT device_info(const std::string& run_ms) {
  agent::DeviceConfig config;
  config.key = "simulated";
  config.threads = 1;
  for (const agent::DeviceOption& option : simulated_device_row().options) {
    if (std::string(option.name) != "run-ms") continue;
    const auto set = option.set(config, run_ms);
    EXPECT_TRUE(set) << set.error().text();
  }
  return simulated_device_row().describe(config, agent::SystemRoot());
}

std::unique_ptr<agent::Device> open_device(const wire::DeviceInfoT& info) {
  return std::get<agent::WorkerRow>(simulated_device_row().worker).open(info).value();
}

// Stores 1.0f. `padding`: bytes behind the code, so that it is another program.
wire::ProgramT program(std::size_t padding) {
  wire::ProgramT made = simulated_device_row().self_test({}).program;
  wire::ImageT& image = *made.images[0];
  image.bytes.resize(image.bytes.size() + padding);
  image.cpu->text_bytes = image.cpu->memory_bytes = image.bytes.size();
  made.buffers[0]->fill = std::make_unique<wire::FillT>();  // zeros
  return made;
}

std::uint64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint64_t ticks_of(agent::Device& device, std::size_t padding) {
  const auto prepared =
      device.prepare(program(padding), {1}, [](const wire::Hash&) { return ByteView(); });
  EXPECT_TRUE(prepared) << prepared.error().text();
  const auto sample = device.run(1);
  return sample ? sample->ticks : 0;
}

TEST(SimulatedDevice, RunsTakeTheStatedTimeByTheProgramsHash) {
  const auto device = open_device(device_info("2"));
  std::vector<std::uint64_t> ticks;
  for (std::size_t padding = 0; padding < 8; ++padding) {
    ticks.push_back(ticks_of(*device, padding));
    EXPECT_GE(ticks.back(), 2 * kMs);
    EXPECT_LE(ticks.back(), 2.2 * kMs);
    EXPECT_EQ(device->run(3)->ticks, 3 * ticks.back());
  }
  EXPECT_EQ(ticks_of(*device, 0), ticks[0]);
  std::sort(ticks.begin(), ticks.end());
  EXPECT_EQ(std::unique(ticks.begin(), ticks.end()), ticks.end());
}

TEST(SimulatedDevice, ComputesOnceAndSleepsFromThenOn) {
  const auto device = open_device(device_info("5"));
  const auto output = [&] {
    float value = -1;
    std::memcpy(&value, device->read(0)->data(), sizeof value);
    return value;
  };
  ASSERT_TRUE(device->prepare(program(0), {1}, [](const wire::Hash&) { return ByteView(); }));
  EXPECT_NE(output(), 1);
  std::uint64_t wall = now(CLOCK_MONOTONIC);
  ASSERT_TRUE(device->run(1));
  EXPECT_GE(now(CLOCK_MONOTONIC) - wall, 5 * kMs) << "the first one lasts as long as all";
  EXPECT_EQ(output(), 1);
  wall = now(CLOCK_MONOTONIC);
  const std::uint64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  const auto sample = device->run(40);
  ASSERT_TRUE(sample);
  EXPECT_GE(now(CLOCK_MONOTONIC) - wall, sample->ticks);
  EXPECT_LT(now(CLOCK_PROCESS_CPUTIME_ID) - cpu, 20 * kMs) << "of 200 ms";
}

TEST(SimulatedDevice, TakesThePlaceOfTheCpuAndNeverSharesAPoolWithIt) {
  const std::size_t rows = agent::device_rows().size();
  agent::add_device_row(simulated_device_row());
  EXPECT_EQ(agent::device_rows().size(), rows);
  agent::DeviceConfig config;
  config.key = "simulated";
  const auto info =
      agent::find_device_row(wire::DeviceKind::Cpu)->describe(config, agent::SystemRoot());
  EXPECT_TRUE(info.emulated);
  EXPECT_EQ(fleet::pools_of(info), std::vector<std::string>{"simulated (emulated)"});
  for (const agent::DeviceOption& option : simulated_device_row().options) {
    if (std::string(option.name) != "run-ms") continue;
    for (const char* wrong : {"", "0", "-1", "x", "5ms", "1001", "nan"}) {
      EXPECT_FALSE(option.set(config, wrong)) << wrong;
    }
  }
}

records::TuningRecord trial(const std::string& board, std::uint64_t idle_ms,
                            std::uint64_t busy_ms) {
  records::TuningRecord record = records::test::measured(1, 5e6);
  record.board_id = board;
  record.outcome.times = std::make_unique<wire::StageTimesT>();
  record.outcome.times->idle_before_ns = idle_ms * kMs;
  record.outcome.times->total_ns = busy_ms * kMs;
  return record;
}

BoardsRun run_of(unsigned boards, std::vector<records::TuningRecord> records) {
  BoardsRun run;
  run.boards = boards;
  run.times = board_times(records);
  return run;
}

TEST(BoardTimes, AreEachBoardsOwn) {
  std::vector<records::TuningRecord> records;
  records.push_back(trial("b", 5000, 100));
  records.push_back(trial("a", 9000, 30));  // both waited for the session
  records.push_back(trial("a", 70, 30));
  records.push_back(trial("b", 0, 30));
  records.push_back(trial("a", 10, 30));
  records.push_back(trial("a", 0, 30));
  records.push_back(trial("b", 10, 20));
  records.push_back(trial("", 0, 0));
  records.back().outcome.times.reset();  // a twin
  auto failed = records::test::failed(9, ErrorCode::RunTimeout, wire::Stage::Run, "slow");
  failed.board_id = "b";
  failed.outcome.times = std::make_unique<wire::StageTimesT>(*records[6].outcome.times);
  records.push_back(std::move(failed));

  const SessionTimes times = board_times(records);
  EXPECT_EQ(times.elsewhere, 1u);
  ASSERT_EQ(times.boards.size(), 2u);
  const BoardTimes &a = times.boards[0], &b = times.boards[1];
  EXPECT_EQ(a.board_id, "a");
  EXPECT_EQ(a.trials, 4u);
  EXPECT_EQ(a.failed, 0u);
  EXPECT_DOUBLE_EQ(a.busy_share, 90.0 / 170);
  EXPECT_DOUBLE_EQ(a.later_busy_share, 60.0 / 70);
  EXPECT_DOUBLE_EQ(a.trial_ms, 30);
  EXPECT_DOUBLE_EQ(a.kernel_ms, 5);
  EXPECT_EQ(a.samples, 20u);
  EXPECT_EQ(a.disturbed, 8u);
  EXPECT_EQ(b.trials, 4u);
  EXPECT_EQ(b.failed, 1u);
  EXPECT_DOUBLE_EQ(b.busy_share, 70.0 / 90);
  EXPECT_DOUBLE_EQ(b.trial_ms, 30) << "of those that gave a time";
  EXPECT_DOUBLE_EQ(times.least_busy_share(), 90.0 / 170);
}

TEST(BoardTimes, TheLargestNumberOfWhichAllAreBusyCounts) {
  const auto busy = [](const std::string& board, std::uint64_t idle) {
    std::vector<records::TuningRecord> both;
    both.push_back(trial(board, 0, 90));
    both.push_back(trial(board, idle, 90));
    return both;
  };
  std::vector<BoardsRun> runs;
  runs.push_back(run_of(1, busy("a", 5)));
  auto two = busy("a", 5), other = busy("b", 10);
  two.insert(two.end(), std::make_move_iterator(other.begin()),
             std::make_move_iterator(other.end()));
  runs.push_back(run_of(2, std::move(two)));
  runs.push_back(run_of(4, busy("a", 0)));  // three had no trial
  EXPECT_EQ(most_boards(runs, 0.9), 2u);
  EXPECT_EQ(most_boards(runs, 0.91), 1u);
  EXPECT_EQ(most_boards(runs, 0.99), 0u);
  EXPECT_EQ(runs[2].least_busy_share(), 0);
}

}  // namespace
}  // namespace fettle::bench
