// The CPU's device with runs that sleep (simulated_device.h).
#include "tests/bench/boards/simulated_device.h"

#include <time.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "agent/device/cpu/cpu_device.h"
#include "agent/measure/status_page.h"
#include "schemas/wire/content_hash.h"

namespace fettle::bench {
namespace {

constexpr const char* kRunMs = "simulated_run_ms";  // in settings and DeviceInfo.extra
constexpr double kMostRunMs = 1000;

void sleep_until(std::uint64_t monotonic_ns) {
  const timespec until{static_cast<time_t>(monotonic_ns / 1'000'000'000),
                       static_cast<long>(monotonic_ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

double run_ms_of(const wire::DeviceInfoT& info) {
  for (const auto& fact : info.extra) {
    if (fact->name == kRunMs) return std::strtod(fact->value.c_str(), nullptr);
  }
  return kUsualRunMs;
}

// In [0, 1), by the program's machine code.
double place_of(const wire::ProgramT& program, const BlobLookup& blobs) {
  ContentHasher hasher;
  for (const auto& image : program.images) {
    hasher.add(image->bytes.empty() && image->blob ? blobs(*image->blob) : ByteView(image->bytes));
  }
  constexpr int kDigits = 13;  // 52 bits: all that a double holds
  const std::string digits = to_hex(hasher.end()).substr(0, kDigits);
  return std::ldexp(static_cast<double>(std::strtoull(digits.c_str(), nullptr, 16)), -4 * kDigits);
}

class SimulatedDevice final : public agent::Device {
 public:
  explicit SimulatedDevice(std::unique_ptr<agent::Device> cpu) : cpu_(std::move(cpu)) {}

  const wire::DeviceInfoT& info() const override { return cpu_->info(); }
  Result<std::uint64_t> prepare(const wire::ProgramT& program, const agent::PrepareOptions& options,
                                const BlobLookup& blobs) override {
    really_ran_ = false;
    const double ms = run_ms_of(info()) * (1 + kRunSpread * place_of(program, blobs));
    run_ns_ = static_cast<std::uint64_t>(ms * 1e6);
    return cpu_->prepare(program, options, blobs);
  }

  Result<agent::Sample> run(std::uint32_t times, bool) override {
    const std::uint64_t start = agent::StatusPage::monotonic_ns();
    if (!really_ran_) {
      if (auto ran = cpu_->run(1); !ran) return ran;
      really_ran_ = true;
    }
    agent::Sample sample{times * run_ns_, wire::ClockDomain::Nanoseconds, 1e9};
    sleep_until(start + sample.ticks);
    return sample;
  }

  // The next run is really made: it has to write them again.
  Result<void> poison_outputs() override {
    really_ran_ = false;
    return cpu_->poison_outputs();
  }
  Result<ByteView> read(std::uint32_t buffer) override { return cpu_->read(buffer); }
  std::uint8_t unwritten_byte(wire::ScalarType type) const override {
    return cpu_->unwritten_byte(type);
  }
  Result<void> check_surroundings() override { return cpu_->check_surroundings(); }
  agent::DriverReading conditions() const override { return cpu_->conditions(); }
  void reset() override { cpu_->reset(); }
  bool lost() const override { return cpu_->lost(); }

 private:
  std::unique_ptr<agent::Device> cpu_;
  std::uint64_t run_ns_ = 0;
  bool really_ran_ = false;
};

wire::DeviceInfoT describe(const agent::DeviceConfig& config, const agent::SystemRoot& root) {
  wire::DeviceInfoT info = agent::describe_cpu(config, root);
  const auto set = config.settings.find(kRunMs);
  auto fact = std::make_unique<wire::NamedValueT>();
  fact->name = kRunMs;
  fact->value = set == config.settings.end() ? std::to_string(kUsualRunMs) : set->second;
  info.name = "simulated board, runs of " + fact->value + " ms or little more";
  info.emulated = true;
  info.extra.push_back(std::move(fact));
  return info;
}

Result<std::unique_ptr<agent::Device>> open(const wire::DeviceInfoT& info) {
  auto cpu = agent::open_cpu(info);
  if (!cpu) return cpu;
  return std::unique_ptr<agent::Device>(new SimulatedDevice(std::move(*cpu)));
}

Result<void> set_run_ms(agent::DeviceConfig& device, const std::string& value) {
  char* end = nullptr;
  const double ms = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != 0 || !(ms > 0) || ms > kMostRunMs) {
    return agent::wrong_option("run-ms",
                               "takes milliseconds above 0, 1000 at most, not '" + value + "'");
  }
  device.settings[kRunMs] = value;
  return {};
}

std::span<const agent::DeviceOption> options() {
  static const std::vector<agent::DeviceOption> all = [] {
    const auto own = agent::cpu_options();
    std::vector<agent::DeviceOption> options(own.begin(), own.end());
    // Its clock is what it says it is.
    std::erase_if(options, [](const auto& option) { return std::string(option.name) == "clock"; });
    options.push_back({"run-ms", "MS",
                       "what a run takes at least, at most a tenth more (default: 5)", set_run_ms});
    return options;
  }();
  return all;
}

}  // namespace

const agent::DeviceRow& simulated_device_row() {
  static const agent::DeviceRow row = {
      wire::DeviceKind::Cpu,
      "cpu",
      describe,
      agent::WorkerRow{wire::DeviceKind::Cpu, open, agent::cpu_sandbox},
      agent::cpu_self_test,
      options()};
  return row;
}

}  // namespace fettle::bench
