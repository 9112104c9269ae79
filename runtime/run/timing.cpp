// Timing runs (timing.h).
#include "runtime/run/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "agent/platform/conditions.h"
#include "agent/platform/cpu_facts.h"

namespace fettle::run {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

constexpr double kWarmUpMs = 200;
constexpr std::size_t kLeastRuns = 10, kMostRuns = 1'000'000;

// Which layers an accelerator runs.
std::vector<bool> accelerated_layers(const wire::NetworkT& network) {
  std::vector<bool> accelerated;
  auto launch = network.program->launches.begin();
  for (const auto& layer : network.layers) {
    bool streams = false;
    for (std::uint32_t n = layer->run_launches; n > 0; ++launch) {
      if ((*launch)->phase != wire::Phase::Run) continue;
      streams |= network.program->images[(*launch)->image]->kind == wire::ImageKind::VtaStream;
      --n;
    }
    accelerated.push_back(streams);
  }
  return accelerated;
}

}  // namespace

double Timing::quantile(double part) const {
  const double at = part * static_cast<double>(runs.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, runs.size() - 1);
  return runs[below] + (runs[above] - runs[below]) * (at - std::floor(at));
}

Result<Timing> time_runs(runtime::LoadedNetwork& network, const std::vector<std::uint32_t>& cores,
                         std::uint32_t runs, double least_ms) {
  const agent::ConditionsReader conditions(agent::SystemRoot(),
                                           cores.empty() ? agent::usable_cores() : cores);
  const auto warm_up = Clock::now();
  for (int n = 0; n < 2 || (ms_since(warm_up) < kWarmUpMs && n < 10'000); ++n) {
    if (auto ran = network.run(); !ran) return std::move(ran).error();
  }
  Timing timing;
  const wire::ConditionsT before = conditions.read();
  const auto start = Clock::now();
  const std::size_t wanted = runs > 0 ? runs : kLeastRuns;
  while (timing.runs.size() < wanted ||
         (runs == 0 && ms_since(start) < least_ms && timing.runs.size() < kMostRuns)) {
    const auto begin = Clock::now();
    if (auto ran = network.run(); !ran) return std::move(ran).error();
    timing.runs.push_back(ms_since(begin));
  }
  const wire::ConditionsT after = conditions.read();
  timing.governor = after.governor;
  timing.cpu_khz = after.cpu_khz;
  timing.temperature_millidegrees = after.temperature_millidegrees;
  timing.involuntary_switches = after.involuntary_switches - before.involuntary_switches;
  timing.steal_ticks = after.steal_ticks - before.steal_ticks;
  std::sort(timing.runs.begin(), timing.runs.end());
  return timing;
}

Result<std::vector<LayerTime>> time_layers(runtime::LoadedNetwork& network) {
  const std::size_t count = network.description().layers.size();
  std::vector<std::vector<std::uint64_t>> ns(count);  // of each layer, by run
  const auto start = Clock::now();
  for (int runs = 0; runs < 10 || (ms_since(start) < 500 && runs < 1000); ++runs) {
    std::vector<std::uint64_t> layer_ns(count);
    if (auto ran = network.run(layer_ns); !ran) return std::move(ran).error();
    for (std::size_t i = 0; i < count; ++i) ns[i].push_back(layer_ns[i]);
  }
  const std::vector<bool> accelerated = accelerated_layers(network.description());
  std::vector<LayerTime> layers;
  for (std::size_t i = 0; i < count; ++i) {
    const auto middle = ns[i].begin() + static_cast<std::ptrdiff_t>(ns[i].size() / 2);
    std::nth_element(ns[i].begin(), middle, ns[i].end());
    const auto ticks = static_cast<double>(*middle);
    layers.push_back(accelerated[i] ? LayerTime{ticks, "cycles"}
                                    : LayerTime{ticks / 1e6, kMilliseconds});
  }
  return layers;
}

}  // namespace fettle::run
