// TimeSplit (time_split.h).
#include "host/tune/time_split.h"

#include <algorithm>

namespace fettle::tune {
namespace {

constexpr double kSeconds = 1e-9;  // per nanosecond

}  // namespace

void TimeSplit::add_build(std::uint64_t nanoseconds) {
  builds_.push_back(static_cast<float>(nanoseconds) * 1e-6f);
  build_seconds_ += static_cast<double>(nanoseconds) * kSeconds;
}

void TimeSplit::add(const wire::StageTimesT& times, bool first) {
  const auto told = times.load_ns + times.warmup_ns + times.run_ns + times.check_ns;
  device_.load += static_cast<double>(times.load_ns) * kSeconds;
  device_.warmup += static_cast<double>(times.warmup_ns) * kSeconds;
  device_.run += static_cast<double>(times.run_ns) * kSeconds;
  device_.check += static_cast<double>(times.check_ns) * kSeconds;
  device_.other += static_cast<double>(times.total_ns - std::min(told, times.total_ns)) * kSeconds;
  if (!first) device_.idle += static_cast<double>(times.idle_before_ns) * kSeconds;
  upload_seconds_ += static_cast<double>(times.upload_ns) * kSeconds;
}

double TimeSplit::build_ms(double quantile) const {
  if (builds_.empty()) return 0;
  std::vector<float> sorted = builds_;
  const auto place = static_cast<std::ptrdiff_t>(quantile * static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), sorted.begin() + place, sorted.end());
  return static_cast<double>(sorted[static_cast<std::size_t>(place)]);
}

}  // namespace fettle::tune
