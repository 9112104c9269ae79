// The sequential sampler, against a scripted device on a machine of made-up files.
#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "agent/measure/launch_ticks.h"
#include "agent/measure/sampler.h"

namespace fettle::agent {
namespace {

// A device whose runs take scripted times, and may disturb the (fake) machine.
class ScriptedDevice final : public Device {
 public:
  std::function<double(std::uint32_t call)> nanoseconds;  // of one run, at that call
  double wake_ns = 0;                                     // of its threads, once a call
  std::uint32_t calls = 0;
  std::vector<std::uint32_t> numbers;

  const wire::DeviceInfoT& info() const override { return info_; }
  Result<std::uint64_t> prepare(const wire::ProgramT&, const PrepareOptions&,
                                const BlobLookup&) override {
    return std::uint64_t{0};
  }
  Result<Sample> run(std::uint32_t times, bool launch_ticks) override {
    numbers.push_back(times);
    Sample sample{static_cast<std::uint64_t>(wake_ns + nanoseconds(calls++) * times), info_.clock,
                  info_.clock_hz};
    // Two launches: the second takes three times as long.
    if (launch_ticks) sample.launch_ticks = {sample.ticks / 4, sample.ticks - sample.ticks / 4};
    return sample;
  }
  void count_instructions() {
    info_.clock = wire::ClockDomain::Instructions;
    info_.clock_hz = 0;
  }
  Result<ByteView> read(std::uint32_t) override { return ByteView(); }
  std::uint8_t unwritten_byte(wire::ScalarType) const override { return 0xff; }
  Result<void> check_surroundings() override { return {}; }
  void reset() override {}
  ScriptedDevice() { info_.clock_hz = 1e9; }

 private:
  wire::DeviceInfoT info_;
};

class SamplerTest : public testing::Test {
 protected:
  SamplerTest() {
    root = std::filesystem::temp_directory_path() / ("fettle-sampler-" + std::to_string(getpid()));
    std::filesystem::create_directories(root / "proc");
    set_steal(0);
    options.min_repeat_ms = 1;
    options.retakes = 5;
  }
  ~SamplerTest() override { std::filesystem::remove_all(root); }
  void set_steal(int ticks) {
    std::ofstream(root / "proc/stat")
        << "cpu  0 0 0 0 0 0 0 0\ncpu0 1 2 3 4 5 6 7 " << ticks << " 0 0\nintr 5\n";
  }
  Result<wire::MeasurementT> sample(double first_run_ns = 0) {
    const ConditionsReader conditions(SystemRoot(root.string()), {0});
    std::uint64_t warmup = 0, run = 0;
    return take_samples(
        {device, conditions, status, options, first_run_ns, &warmup, &run, most_cool_ms});
  }
  void put(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text << "\n";
  }
  void set_clock(int khz) {
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", std::to_string(khz));
  }
  void set_cooling_state(int state) {
    put("sys/class/thermal/cooling_device0/type", "thermal-cpufreq-0");
    put("sys/class/thermal/cooling_device0/cur_state", std::to_string(state));
  }
  std::filesystem::path root;
  ScriptedDevice device;
  wire::MeasureOptionsT options;
  StatusPage status{};
  int most_cool_ms = 30'000;
};

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

// The same where only the calibrating sample was slow, and disturbed.
TEST_F(SamplerTest, SlowOnlyWhileDisturbed) {
  device.nanoseconds = [this](std::uint32_t call) {
    if (call > 1) return 1000.0;
    set_steal(static_cast<int>(call) + 1);  // call 0 is the warm-up
    return 5000.0;
  };
  options.min_repeat_ms = 20;
  options.racing_bound_ns = 1100;
  const auto out = sample(5000);
  ASSERT_TRUE(out.ok());
  EXPECT_FALSE(out->censored);
  for (const auto& taken : out->samples) EXPECT_GE(taken.ticks(), 10'000'000u);
  EXPECT_EQ(out->median, 1000);
}

TEST_F(SamplerTest, NearWinnerIsNotCensored) {
  device.nanoseconds = [](std::uint32_t) { return 1020.0; };
  options.racing_bound_ns = 1000;
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  EXPECT_FALSE(out->censored);
}

TEST_F(SamplerTest, StolenSampleIsTakenAgain) {
  options.number = 1000;
  device.nanoseconds = [this](std::uint32_t call) {
    if (call == 1) set_steal(3);  // during the first sample; call 0 is the warm-up
    return call == 1 ? 5000.0 : 1000.0;
  };
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  EXPECT_GE(out->disturbed, 1u);
  for (const auto& taken : out->samples) EXPECT_EQ(taken.ticks(), 1'000'000u);
  EXPECT_EQ(out->median, 1000);
}

// Returns when that thread of ours has slept for five looks in a row. One that merely
// waits for a CPU is not asleep.
void wait_until_asleep(pid_t thread) {
  for (int asleep = 0; asleep < 5;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(stat, text);
    const std::size_t state = text.rfind(") ");
    asleep = state != std::string::npos && text[state + 2] == 'S' ? asleep + 1 : 0;
  }
}

TEST_F(SamplerTest, ThrottledSampleIsTakenAgainOnceTheCoreIsCool) {
  set_cooling_state(0);
  std::thread fan;
  options.number = 1000;
  device.nanoseconds = [&](std::uint32_t call) {
    if (call != 1) return 1000.0;
    set_cooling_state(2);  // hot during the first sample; call 0 is the warm-up
    fan = std::thread([&, sampler = gettid()] {
      wait_until_asleep(sampler);  // cooling down: nowhere else does it sleep
      set_cooling_state(0);
    });
    return 3000.0;
  };
  const auto out = sample();
  fan.join();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->throttled, 1u) << "the sampler went on while the core was hot";
  EXPECT_EQ(out->disturbed, 1u);
  for (const auto& taken : out->samples) EXPECT_EQ(taken.ticks(), 1'000'000u);
}

// They agree well, at the wrong clock.
TEST_F(SamplerTest, ThrottledSamplesAreNoMeasurement) {
  options.number = 1000;
  most_cool_ms = 100;
  for (const std::uint32_t clean : {0u, 1u}) {
    set_cooling_state(0);
    device.calls = 0;
    device.nanoseconds = [&](std::uint32_t call) {
      if (call > clean) set_cooling_state(2);  // call 0 is the warm-up
      return call > clean ? 3000.0 : 1000.0;
    };
    const auto out = sample();
    ASSERT_FALSE(out.ok()) << clean << " clean";
    EXPECT_EQ(out.error().code, ErrorCode::Disturbed);
    EXPECT_NE(out.error().message.find("throttled: the kernel held the clock down against heat"),
              std::string::npos)
        << out.error().message;
  }
}

TEST_F(SamplerTest, ARisingClockIsTakenAgain) {
  set_clock(408'000);
  options.number = 1000;
  device.nanoseconds = [this](std::uint32_t call) {
    if (call != 1) return 1000.0;
    set_clock(1'800'000);  // during the first sample; call 0 is the warm-up
    return 3000.0;
  };
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  EXPECT_GE(out->disturbed, 1u);
  for (const auto& taken : out->samples) EXPECT_EQ(taken.ticks(), 1'000'000u);
  EXPECT_EQ(out->lowest->cpu_khz, 1'800'000u);
}

TEST_F(SamplerTest, CalibratesAtTheClockOfTheSamples) {
  options.min_repeat_ms = 0.9;  // too short to be halved
  set_clock(408'000);
  device.nanoseconds = [this](std::uint32_t call) {
    if (call == 1) set_clock(1'800'000);  // the first calibration; call 0 is the warm-up
    return call <= 1 ? 4000.0 : 1000.0;
  };
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  for (const auto& taken : out->samples) EXPECT_GE(taken.ticks(), 900'000u);
}

TEST_F(SamplerTest, SettingsMustStayAsTheyAre) {
  const std::string governor = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
  options.number = 1000;
  for (const std::string& file : {governor, std::string("var/lib/nvpmodel/status"),
                                  std::string("sys/class/fclkcfg/fclk0/rate")}) {
    put(file, "1000");
    device.calls = 0;
    device.nanoseconds = [&](std::uint32_t call) {
      if (call == 2) put(file, "2000");
      return 1000.0;
    };
    const auto out = sample();
    ASSERT_FALSE(out.ok()) << file;
    EXPECT_EQ(out.error().code, ErrorCode::Disturbed);
    EXPECT_NE(out.error().message.find("power mode"), std::string::npos) << out.error().message;
  }
}

TEST_F(SamplerTest, ExtremesAroundTheSamplesAreRecorded) {
  auto set_all = [this](bool high) {
    set_clock(high ? 1'800'000 : 1'750'000);
    put("sys/class/devfreq/ff9a0000.gpu/cur_freq", high ? "800000000" : "200000000");
    put("sys/class/thermal/thermal_zone0/temp", high ? "71000" : "41000");
  };
  set_all(false);
  options.number = 1000;
  // Before and after any sample they differ.
  device.nanoseconds = [&](std::uint32_t call) {
    set_all(call % 2 == 0);
    return 1000.0;
  };
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  ASSERT_TRUE(out->lowest && out->highest);
  EXPECT_EQ(out->lowest->cpu_khz, 1'750'000u);
  EXPECT_EQ(out->highest->cpu_khz, 1'800'000u);
  EXPECT_EQ(out->lowest->gpu_khz, 200'000u);
  EXPECT_EQ(out->highest->gpu_khz, 800'000u);
  EXPECT_EQ(out->lowest->temperature_millidegrees, 41'000);
  EXPECT_EQ(out->highest->temperature_millidegrees, 71'000);
}

TEST_F(SamplerTest, AgreeingDisturbedSamplesAreBorrowed) {
  options.number = 1000;
  device.nanoseconds = [this](std::uint32_t call) {
    set_steal(static_cast<int>(call) + 1);
    return 1000.0 + call;
  };
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->samples.size(), 3u);
  EXPECT_EQ(out->borrowed, 3u);
  EXPECT_EQ(out->disturbed, options.retakes + 1) << "borrowed ones stay counted";
}

TEST_F(SamplerTest, WhatIsCleanIsNotBorrowed) {
  options.number = 1000;
  options.retakes = 3;
  device.nanoseconds = [this](std::uint32_t call) {
    if (call > 2) set_steal(static_cast<int>(call));  // after the warm-up two are clean
    return 1000.0 + call;
  };
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->samples.size(), 3u);
  EXPECT_GE(out->borrowed, 1u);
  EXPECT_LE(out->borrowed, out->disturbed);
}

TEST_F(SamplerTest, LaunchesAreTimedApart) {
  device.nanoseconds = [](std::uint32_t call) { return call == 2 ? 90'000.0 : 1000.0; };
  std::uint64_t warmup = 0, run = 0;
  ConditionsReader conditions(SystemRoot(root.string()), {0});
  const SamplerInput input{device, conditions, status, options, 0, &warmup, &run};
  const auto ticks = measure_launches(input, 100);
  ASSERT_TRUE(ticks.ok());
  EXPECT_EQ(*ticks, (std::vector<double>{250, 750})) << "the median, per run";
  EXPECT_EQ(device.calls, 5u);
}

TEST_F(SamplerTest, BusyCoreGetsShorterSamples) {
  options.min_repeat_ms = 20;
  options.retakes = 20;
  device.nanoseconds = [this](std::uint32_t call) {
    // Long samples are stolen from, those under 6 ms are not.
    if (!device.numbers.empty() && device.numbers.back() > 6000)
      set_steal(static_cast<int>(call) + 1);
    return 1000.0;
  };
  const auto out = sample();
  ASSERT_TRUE(out.ok());
  EXPECT_GT(out->disturbed, 0u);
  for (const auto& taken : out->samples) {
    EXPECT_LE(taken.runs(), 6000u);
    EXPECT_GE(taken.runs(), 500u);
  }
  EXPECT_EQ(out->median, 1000);
}

TEST_F(SamplerTest, HopelessDisturbanceIsAFailure) {
  options.number = 1000;
  device.nanoseconds = [this](std::uint32_t call) {
    set_steal(static_cast<int>(call) + 1);
    return 1000.0 * (call + 1);
  };
  const auto out = sample();
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code, ErrorCode::Disturbed);
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
