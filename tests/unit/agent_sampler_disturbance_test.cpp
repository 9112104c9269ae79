// The sequential sampler on a machine that steals time, throttles, or changes its clock or
// its settings.
#include <gtest/gtest.h>
#include <unistd.h>
#include <fstream>
#include <thread>

#include "tests/unit/sampler_rig.h"

namespace fettle::agent {
namespace {

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

}  // namespace
}  // namespace fettle::agent
