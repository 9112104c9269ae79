// The sampler on a scripted device and a machine of made-up files.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "agent/measure/sampler.h"

namespace fettle::agent {

// A device whose runs take scripted times, and may disturb the (fake) machine.
class ScriptedDevice : public Device {
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
  void count_cycles(double hz) {
    info_.clock = wire::ClockDomain::AcceleratorCycles;
    info_.clock_hz = hz;
  }
  Result<void> poison_outputs() override { return {}; }
  Result<ByteView> read(std::uint32_t) override { return ByteView(); }
  std::uint8_t unwritten_byte(wire::ScalarType) const override { return 0xff; }
  Result<void> check_surroundings() override { return {}; }
  void reset() override {}
  bool exact() const override { return is_exact; }
  bool is_exact = false;
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
  Result<wire::MeasurementT> sample(double first_run_ticks = 0) {
    const ConditionsReader conditions(SystemRoot(root.string()), {0});
    std::uint64_t warmup = 0, run = 0;
    return take_samples(
        {device, conditions, status, options, first_run_ticks, &warmup, &run, most_cool_ms});
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

}  // namespace fettle::agent
