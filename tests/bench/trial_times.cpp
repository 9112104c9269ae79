// The accounting (trial_times.h).
#include "tests/bench/trial_times.h"

#include <algorithm>

#include "schemas/wire/result.h"

namespace fettle::bench {
namespace {

constexpr double kNsPerMs = 1e6;

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
}

}  // namespace

double median_of(std::vector<double> values) { return quantile(std::move(values), 0.5); }

std::vector<TrialTimes> account(const std::vector<Seen>& seen) {
  std::vector<TrialTimes> trials;
  for (std::size_t i = 1; i < seen.size(); ++i) {
    const Seen& s = seen[i];
    TrialTimes t;
    t.trial = s.trial;
    t.build_ms = static_cast<double>(s.build_ns) / kNsPerMs;
    const wire::StageTimesT none;
    const wire::StageTimesT& times = s.outcome.times ? *s.outcome.times : none;
    t.total_ms = static_cast<double>(times.total_ns) / kNsPerMs;
    t.gap_ms = static_cast<double>(times.idle_before_ns) / kNsPerMs;
    t.load_ms = static_cast<double>(times.load_ns) / kNsPerMs;
    t.check_ms = static_cast<double>(times.check_ns) / kNsPerMs;
    t.running_ms = static_cast<double>(times.run_ns + times.warmup_ns) / kNsPerMs;
    t.sampled_ms = static_cast<double>(times.run_ns) / kNsPerMs;
    if (const auto* m = s.outcome.body.AsMeasurement()) {
      t.measured = true;
      if (m->ticks_per_second > 0) {
        t.kernel_ms = (m->censored ? m->interval_low : m->median) / m->ticks_per_second * 1e3;
      }
    } else if (const auto* f = s.outcome.body.AsFailure(); f != nullptr && f->error) {
      t.failure = name_of(f->error->code);
    }
    t.running_ms = std::min(t.running_ms, t.total_ms);
    t.sampled_ms = std::min(t.sampled_ms, t.running_ms);
    // The device was idle at the latest when the outcome before this one was here,
    // and this one was the next to go: none could run before it was built.
    const std::chrono::duration<double, std::milli> unbuilt = s.built - seen[i - 1].completed;
    t.supply_ms = std::clamp(unbuilt.count(), 0.0, t.gap_ms);
    trials.push_back(std::move(t));
  }
  return trials;
}

Summary summarise(const std::vector<TrialTimes>& trials, double wall_s) {
  Summary s;
  double total = 0, gap = 0, supply = 0, running = 0, sampled = 0;
  std::vector<double> overheads, loads, checks, kernels, builds;
  for (const TrialTimes& t : trials) {
    ++s.trials;
    total += t.total_ms;
    gap += t.gap_ms;
    supply += t.supply_ms;
    running += t.running_ms;
    sampled += t.sampled_ms;
    builds.push_back(t.build_ms);
    if (!t.measured) {
      ++s.failed;
      continue;
    }
    overheads.push_back(t.overhead_ms());
    loads.push_back(t.load_ms);
    checks.push_back(t.check_ms);
    kernels.push_back(t.kernel_ms);
  }
  if (total > 0) {
    s.busy_share = total / (total + gap - supply);
    s.busy_share_overall = total / (total + gap);
    s.supply_limited_share = supply / (total + gap);
    s.running_share = running / (total + gap);
    s.sampled_share = sampled / (total + gap);
  }
  s.overhead_ms_median = median_of(overheads);
  s.overhead_ms_p90 = quantile(overheads, 0.9);
  s.load_ms_median = median_of(loads);
  s.check_ms_median = median_of(checks);
  s.kernel_ms_median = median_of(kernels);
  s.build_ms_median = median_of(builds);
  s.wall_s = wall_s;
  if (wall_s > 0) s.trials_per_hour = static_cast<double>(s.trials) / wall_s * 3600;
  return s;
}

}  // namespace fettle::bench
