// Recent (recent.h): a ring of steps.
#include "host/web/recent.h"

#include <algorithm>
#include <cmath>

namespace fettle::web {
namespace {

std::int64_t step_of(double seconds) {
  return static_cast<std::int64_t>(std::floor(seconds / Recent::kStep));
}

constexpr double kYoung = 4;  // seconds; a step that runs for less says nothing

}  // namespace

void Recent::spent(double begin, double end) {
  const std::int64_t last = step_of(end);
  const std::int64_t first =
      std::max({step_of(begin), last - std::int64_t{kSteps} + 1, std::int64_t{0}});
  for (std::int64_t number = first; number <= last; ++number) {
    Step& step = steps_[static_cast<std::size_t>(number) % kSteps];
    if (step.number > number) continue;
    if (step.number < number) step = {number, 0};
    const double from = static_cast<double>(number) * kStep;
    step.seconds += std::max(0.0, std::min(end, from + kStep) - std::max(begin, from));
  }
}

double Recent::at(std::int64_t number) const {
  if (number < 0) return 0;
  const Step& step = steps_[static_cast<std::size_t>(number) % kSteps];
  return step.number == number ? step.seconds : 0;
}

std::vector<double> Recent::shares(double since, double now) const {
  std::vector<double> out;
  const std::int64_t last = step_of(now - kYoung);
  const std::int64_t first = std::max(step_of(since), last - std::int64_t{kSteps} + 1);
  for (std::int64_t number = first; number <= last; ++number) {
    const double from = std::max(since, static_cast<double>(number) * kStep);
    const double to = std::min(now, static_cast<double>(number + 1) * kStep);
    out.push_back(to > from ? std::clamp(at(number) / (to - from), 0.0, 1.0) : 0);
  }
  return out;
}

double Recent::last_minute(double since, double now) const {
  const std::int64_t last = step_of(now), first = last - 5;
  double spent = 0;
  for (std::int64_t number = first; number <= last; ++number) spent += at(number);
  const double from = std::max(since, static_cast<double>(first) * kStep);
  return now - from < 0.5 ? 0 : std::clamp(spent / (now - from), 0.0, 1.0);
}

}  // namespace fettle::web
