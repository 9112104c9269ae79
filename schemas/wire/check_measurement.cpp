// A measurement's figures, one after the other (check_measurement.h).
#include "schemas/wire/check_measurement.h"

#include <algorithm>
#include <cmath>

#include "schemas/wire/limits.h"

namespace fettle {

Result<void> check_measurement(const wire::MeasurementT& measurement) {
  for (const auto& sample : measurement.samples) {
    if (sample.runs() == 0) return Error{ErrorCode::Malformed, "sample of no runs"};
  }
  if (!(measurement.median > 0) || !std::isfinite(measurement.median)) {
    return Error{ErrorCode::Malformed, "measurement whose median is no positive number"};
  }
  for (const double figure :
       {measurement.ticks_per_second, measurement.interval_low, measurement.interval_high}) {
    if (!(figure >= 0) || !std::isfinite(figure)) {
      return Error{ErrorCode::Malformed,
                   "measurement whose interval or clock rate is negative or no number"};
    }
  }
  if (measurement.borrowed > measurement.samples.size() ||
      measurement.launch_ticks.size() > limits::kLaunches ||
      !std::all_of(measurement.launch_ticks.begin(), measurement.launch_ticks.end(),
                   [](double ticks) { return ticks >= 0 && std::isfinite(ticks); })) {
    return Error{ErrorCode::Malformed,
                 "measurement with more borrowed samples than it has, or "
                 "with launches that took no number of ticks"};
  }
  return {};
}

}  // namespace fettle
