// Samples with a look at the clock between launches (launch_ticks.h).
#include "agent/measure/launch_ticks.h"

#include "agent/measure/statistics.h"

namespace fettle::agent {
namespace {
constexpr int kSamples = 5;
constexpr double kMargin = 1.5;  // of the first one's time, which looks at the clock more often
}  // namespace

Result<std::vector<double>> measure_launches(const SamplerInput& input, std::uint32_t number,
                                             double run_ns) {
  std::vector<std::vector<double>> taken;  // of each launch, per run
  const std::uint64_t limit = std::uint64_t{input.options.timeout_ms} * 1'000'000;
  const int samples = input.device.exact() ? 1 : kSamples;
  double next = kMargin * run_ns * number;
  for (int i = 0; i < samples; ++i) {
    // A run beyond the limit ends the worker, and with it all that was measured.
    if (static_cast<double>(input.status.run_ns.load()) + next > static_cast<double>(limit)) break;
    input.status.enter(WorkerPhase::Run);
    const std::uint64_t start = StatusPage::monotonic_ns();
    Result<Sample> sample = [&] {
      RunMark mark(input.status);
      return input.device.run(number, true);
    }();
    const std::uint64_t lasted = StatusPage::monotonic_ns() - start;
    *input.run_ns += lasted;
    if (!sample) return std::move(sample).error();
    taken.resize(sample->launch_ticks.size());
    for (std::size_t launch = 0; launch < taken.size(); ++launch) {
      taken[launch].push_back(static_cast<double>(sample->launch_ticks[launch]) / number);
    }
    next = 2 * static_cast<double>(lasted);
  }
  std::vector<double> medians;
  for (const auto& values : taken) medians.push_back(median_interval(values).median);
  return medians;
}

}  // namespace fettle::agent
