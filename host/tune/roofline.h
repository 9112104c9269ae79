// Roofline: what a board can reach at best, and whether a measured time can be true.
#pragma once

#include <optional>

#include "schemas/build_generated.h"
#include "schemas/measure_generated.h"

namespace fettle::tune {

// Calibrated on that very board for the thread count in use. 0: not calibrated.
struct Roofline {
  double operations_per_second = 0;  // a multiply-add is two
  double bytes_per_second = 0;       // of the fastest cache level, all threads together
  double main_memory_bytes_per_second = 0;
  double integer_operations_per_second = 0;  // 0 also: no instruction was found that bounds them

  double peak_gflops() const { return operations_per_second * 1e-9; }
  // Fewest seconds that a program of these facts can take; 0 when nothing is calibrated.
  double least_seconds(const wire::ProgramFactsT& facts) const;
};

// A calibration is a measurement too: a result this much above it is still believed.
inline constexpr double kRooflineMargin = 1.1;

// Failure{Accept, Implausible} when the measured time is below what the roofline
// allows; nothing when the measurement may be true. Times of clocks that do not
// count time are not judged.
std::optional<wire::FailureT> implausible(const Roofline& roofline,
                                          const wire::ProgramFactsT& facts,
                                          const wire::MeasurementT& measurement);

// Median of one run in ns; empty when the device's clock does not count time.
std::optional<double> nanoseconds_of(const wire::MeasurementT& measurement);

}  // namespace fettle::tune
