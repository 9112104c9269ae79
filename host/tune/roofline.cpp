// Roofline (roofline.h).
#include "host/tune/roofline.h"

#include <algorithm>
#include <cstdio>

#include "schemas/wire/clock_domain.h"
#include "schemas/wire/codec.h"

namespace fettle::tune {

double Roofline::least_seconds(const wire::ProgramFactsT& facts) const {
  double seconds = 0;
  if (operations_per_second > 0) seconds = facts.operations / operations_per_second;
  if (integer_operations_per_second > 0) {
    seconds = std::max(seconds, facts.integer_operations / integer_operations_per_second);
  }
  if (bytes_per_second > 0) seconds = std::max(seconds, facts.compulsory_bytes / bytes_per_second);
  return seconds;
}

std::optional<double> nanoseconds_of(const wire::MeasurementT& measurement) {
  return ticks_to_nanoseconds(measurement.median, measurement.clock, measurement.ticks_per_second);
}

std::optional<wire::FailureT> implausible(const Roofline& roofline,
                                          const wire::ProgramFactsT& facts,
                                          const wire::MeasurementT& measurement) {
  const std::optional<double> measured = nanoseconds_of(measurement);
  const double least = roofline.least_seconds(facts) * 1e9;
  if (!measured || *measured * kRooflineMargin >= least) return std::nullopt;
  char text[256];
  std::snprintf(
      text, sizeof text,
      "measured %.0f ns, but %.4g operations, %.4g of integers and %.4g compulsory bytes take this "
      "board at least %.0f ns (%.4g operations/s, %.4g of integers, %.4g bytes/s)",
      *measured, facts.operations, facts.integer_operations, facts.compulsory_bytes, least,
      roofline.operations_per_second, roofline.integer_operations_per_second,
      roofline.bytes_per_second);
  return make_failure(wire::Stage::Accept, Error{ErrorCode::Implausible, text, {}});
}

}  // namespace fettle::tune
