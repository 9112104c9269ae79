// Conditions of two measurements (conditions_compared.h).
#include "tests/bench/conditions_compared.h"

#include <algorithm>

namespace fettle::bench {
namespace {

constexpr double kClockShare = 0.98;
constexpr double kLoadMore = 0.5;

struct Readings {
  double switches_per_s = 0;
  std::uint64_t steal_ticks = 0, throttle_events = 0;
  double cpu_khz = 0;  // the lower of before and after; 0: unknown
  double load = 0;
  bool mostly_disturbed = false;
  double low = 0, high = 0;  // ns per run, 95 % interval of the median
};

Readings readings_of(const wire::MeasurementT& m) {
  Readings r;
  const double ns_per_tick = m.ticks_per_second > 0 ? 1e9 / m.ticks_per_second : 1;
  r.low = m.interval_low * ns_per_tick;
  r.high = m.interval_high * ns_per_tick;
  r.mostly_disturbed = m.disturbed > m.samples.size();
  double ticks = 0;
  for (const wire::Sample& sample : m.samples) ticks += static_cast<double>(sample.ticks());
  const double seconds = ticks * ns_per_tick * 1e-9;
  if (!m.before || !m.after) return r;
  if (seconds > 0) {
    r.switches_per_s =
        static_cast<double>(m.after->involuntary_switches - m.before->involuntary_switches) /
        seconds;
  }
  r.steal_ticks = m.after->steal_ticks - m.before->steal_ticks;
  r.throttle_events = m.after->throttle_events - m.before->throttle_events;
  r.cpu_khz = std::min(m.before->cpu_khz, m.after->cpu_khz);
  r.load = std::max(m.before->load_average, m.after->load_average);
  return r;
}

}  // namespace

std::vector<std::string> slowing_conditions(const wire::MeasurementT& slower,
                                            const wire::MeasurementT& faster) {
  const Readings s = readings_of(slower), f = readings_of(faster);
  std::vector<std::string> reasons;
  if (s.low <= f.high) reasons.push_back("uncertain");
  if (s.mostly_disturbed) reasons.push_back("disturbed");
  if (s.switches_per_s > f.switches_per_s) reasons.push_back("interrupted");
  if (s.steal_ticks > f.steal_ticks) reasons.push_back("stolen");
  if (s.throttle_events > f.throttle_events) reasons.push_back("throttled");
  if (s.cpu_khz > 0 && s.cpu_khz < kClockShare * f.cpu_khz) reasons.push_back("clock");
  if (s.load > f.load + kLoadMore) reasons.push_back("load");
  return reasons;
}

}  // namespace fettle::bench
