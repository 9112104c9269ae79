// The sequential sampler on a quiet machine: calibration, the end of a series, racing, the
// time limit.
#include <gtest/gtest.h>
#include <vector>

#include "agent/measure/launch_ticks.h"
#include "tests/unit/sampler_rig.h"

namespace fettle::agent {
namespace {

TEST_F(SamplerTest, CalibratesAndStopsWhenTight) {
  device.nanoseconds = [](std::uint32_t) { return 1000.0; };
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->number, 1000u);       // 1 ms of 1000 ns runs
  EXPECT_EQ(out->samples.size(), 3u);  // min_samples: they agree exactly
  EXPECT_EQ(out->median, 1000);
  EXPECT_FALSE(out->censored);
}

TEST_F(SamplerTest, ColdFirstRunDoesNotShortenSamples) {
  device.nanoseconds = [](std::uint32_t call) { return call == 0 ? 50'000.0 : 1000.0; };
  const auto out = sample(100'000);
  ASSERT_TRUE(out.ok());
  for (const auto& taken : out->samples) EXPECT_GE(taken.ticks(), 1'000'000u);
}

TEST_F(SamplerTest, NoisySamplesGoOnToRepeat) {
  device.nanoseconds = [](std::uint32_t call) { return call % 2 ? 1000.0 : 1500.0; };
  options.repeat = 8;
  options.number = 1000;
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->samples.size(), 8u);
  EXPECT_LE(out->interval_low, 1000);
  EXPECT_GE(out->interval_high, 1500);
}

TEST_F(SamplerTest, GivenNumberIsKept) {
  device.nanoseconds = [](std::uint32_t) { return 10.0; };
  options.number = 7;
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->number, 7u);
  for (const auto& taken : out->samples) EXPECT_EQ(taken.runs(), 7u);
}

TEST_F(SamplerTest, CountedInstructionsNeedOneRun) {
  device.count_instructions();
  device.nanoseconds = [](std::uint32_t) { return 100.0; };
  options.min_repeat_ms = 20;
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->number, 1u);
  EXPECT_EQ(out->clock, wire::ClockDomain::Instructions);
  EXPECT_EQ(out->ticks_per_second, 0) << "instructions are no time";
  EXPECT_EQ(out->median, 100);
  EXPECT_EQ(out->samples.size(), 2u) << "two that agree suffice";
}

// Whatever the machine does beside, and however short the runs are.
TEST_F(SamplerTest, AnExactDeviceIsAskedOnce) {
  device.is_exact = true;
  device.nanoseconds = [this](std::uint32_t call) {
    set_steal(static_cast<int>(call) + 1);
    return 1000.0 + call;
  };
  options.racing_bound_ns = 10;
  const auto out = sample(500);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(device.numbers, std::vector<std::uint32_t>{1});
  EXPECT_EQ(out->number, 1u);
  EXPECT_EQ(out->samples.size(), 1u);
  EXPECT_EQ(out->disturbed, 0u);
  EXPECT_EQ(out->median, 1000);
  EXPECT_EQ(out->interval_low, 1000);
  EXPECT_EQ(out->interval_high, 1000);
  EXPECT_FALSE(out->censored);
}

// A board's accelerator: its ticks are cycles, what is asked of the sampler is time.
TEST_F(SamplerTest, CyclesOfAKnownRateAreATime) {
  device.count_cycles(1e8);                                     // 10 ns each
  device.nanoseconds = [](std::uint32_t) { return 10'000.0; };  // cycles: 100 us
  const auto out = sample(10'000);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->number, 10u) << "1 ms of 100 us runs";
  EXPECT_EQ(out->median, 10'000);
  EXPECT_EQ(out->ticks_per_second, 1e8);

  options.racing_bound_ns = 90'000;
  const auto slower = sample(10'000);
  ASSERT_TRUE(slower.ok());
  EXPECT_TRUE(slower->censored) << "100 us against 90 us";
  options.racing_bound_ns = 110'000;
  const auto faster = sample(10'000);
  ASSERT_TRUE(faster.ok());
  EXPECT_FALSE(faster->censored) << "10,000 cycles are no 10,000 ns above 110,000";
}

// 2 s a run: the time limit leaves room for three runs, not for thirty.
TEST_F(SamplerTest, ATimeLimitHoldsForCyclesToo) {
  device.count_cycles(1e8);
  device.nanoseconds = [](std::uint32_t) { return 200'000'000.0; };
  options.min_repeat_ms = 30'000;
  options.timeout_ms = 8'000;
  const auto out = sample(200'000'000);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->number, 3u);
}

TEST_F(SamplerTest, InterruptedCountsAreSetAside) {
  device.count_instructions();
  // The first is no sample: it says how long a run is, as no first_run_ns was given.
  const std::vector<double> counts = {3e6, 2'004'000, 2'000'000, 2'004'100, 2'000'300};
  device.nanoseconds = [&](std::uint32_t call) {
    return counts[std::min<std::size_t>(call, counts.size() - 1)];
  };
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  // This process may be switched out, too, so that one of them is taken again.
  EXPECT_GE(out->median, 2'000'000);
  EXPECT_LE(out->median, 2'000'300);
  EXPECT_EQ(out->samples.size(), 2u);
  EXPECT_GE(out->disturbed, 2u);
}

TEST_F(SamplerTest, LoserOfTheRaceIsCensored) {
  device.nanoseconds = [](std::uint32_t call) { return 1300.0 + call % 3; };
  options.racing_bound_ns = 1000;
  options.relative_interval = 1e-9;
  options.repeat = 100;
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  EXPECT_TRUE(out->censored);
  EXPECT_EQ(out->samples.size(), 3u);
  EXPECT_GT(out->interval_low, 1000);
  EXPECT_LE(out->interval_low, 1302);  // "at least this slow" must hold
}

TEST_F(SamplerTest, HopelessLoserCostsShortSamples) {
  device.nanoseconds = [](std::uint32_t) { return 100'000.0; };
  options.racing_bound_ns = 1000;
  options.min_repeat_ms = 1000;
  const auto out = sample(100'000);
  ASSERT_TRUE(out.ok());
  EXPECT_TRUE(out->censored);
  EXPECT_LE(out->number * 100'000.0, 2e6);
}

// A single run after a pause wakes the threads, too: no reason to give a better kernel
// short samples, in which that weighs more.
TEST_F(SamplerTest, SlowOnlyWhileItsThreadsSlept) {
  device.wake_ns = 50'000;
  device.nanoseconds = [](std::uint32_t) { return 19'500.0; };
  options.min_repeat_ms = 20;
  const auto alone = sample(69'500);
  options.racing_bound_ns = 20'000;
  const auto raced = sample(69'500);
  ASSERT_TRUE(alone.ok() && raced.ok());
  EXPECT_FALSE(raced->censored);
  EXPECT_GE(raced->number, 1000u);
  for (const auto& taken : raced->samples) EXPECT_GE(taken.ticks(), 20'000'000u);
  EXPECT_NEAR(raced->median, alone->median, 1e-3 * alone->median);
}

TEST_F(SamplerTest, NearWinnerIsNotCensored) {
  device.nanoseconds = [](std::uint32_t) { return 1020.0; };
  options.racing_bound_ns = 1000;
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  EXPECT_FALSE(out->censored);
}

TEST_F(SamplerTest, LaunchesAreTimedApart) {
  device.nanoseconds = [](std::uint32_t call) { return call == 2 ? 90'000.0 : 1000.0; };
  std::uint64_t warmup = 0, run = 0;
  ConditionsReader conditions(SystemRoot(root.string()), {0});
  const SamplerInput input{device, conditions, status, options, 0, &warmup, &run};
  const auto ticks = measure_launches(input, 100, 1000);
  ASSERT_TRUE(ticks.ok());
  EXPECT_EQ(*ticks, (std::vector<double>{250, 750})) << "the median, per run";
  EXPECT_EQ(device.calls, 5u);
  // A run beyond the limit would end the worker, and with it all that was measured.
  status.run_ns = std::uint64_t{options.timeout_ms} * 1'000'000 - 100 * 1000;
  const auto none = measure_launches(input, 100, 1000);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
  EXPECT_EQ(device.calls, 5u);
}

TEST_F(SamplerTest, TimeLimitCutsTheSeriesNotTheCandidate) {
  // Nothing is really slept: the limit is told to the sampler through the status page,
  // which counts real time; a tiny limit is passed at once.
  options.timeout_ms = 1;
  options.min_repeat_ms = 10;
  device.nanoseconds = [](std::uint32_t) { return 2e6; };
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->samples.size(), 1u);
}

// 40 ms a run, of which 100 ms have room for two: the check run and a sample.
TEST_F(SamplerTest, NoWarmupWhereItLeavesNoTimeForASample) {
  status.run_ns = 40'000'000;  // the check run
  options.timeout_ms = 100;
  device.nanoseconds = [this](std::uint32_t) {
    status.run_ns += 40'000'000;
    return 4e7;
  };
  const auto out = sample(4e7);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(device.numbers, std::vector<std::uint32_t>{1});
  EXPECT_EQ(out->samples.size(), 1u);
}

TEST_F(SamplerTest, ASampleFitsIntoTheTimeLimit) {
  options.timeout_ms = 100;
  options.min_repeat_ms = 1000;
  double spent = 1e6;  // the check run
  status.run_ns = 1'000'000;
  device.nanoseconds = [&](std::uint32_t) {
    spent += 1e6 * device.numbers.back();
    status.run_ns = static_cast<std::uint64_t>(spent);
    return 1e6;
  };
  const auto out = sample(1e6);
  ASSERT_TRUE(out.ok());
  EXPECT_LE(spent, 1e8);
  EXPECT_GE(out->samples[0].runs(), 50u) << "it should be as long as it can be";
}

}  // namespace
}  // namespace fettle::agent
