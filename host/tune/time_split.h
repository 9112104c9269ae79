// TimeSplit: where a session's time went. Stages overlap, so that their sum is more
// than the session's length.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/measure_generated.h"

namespace fettle::tune {

class TimeSplit {
 public:
  // Of one build worker; failed builds count.
  void add_build(std::uint64_t nanoseconds);
  // What a board and the broker say of one trial. `first`: of its board, whose wait for
  // it was the session's start.
  void add(const wire::StageTimesT& times, bool first);

  // Seconds, summed over trials; the device's are those of all boards.
  struct Device {
    double load = 0;    // decode, map, fill, prepare launches
    double warmup = 0;  // runs outside the samples, the checked one among them
    double run = 0;     // inside the samples
    double check = 0;   // comparing outputs
    double other = 0;   // the rest of a trial's time on the device
    double idle = 0;    // between trials
    double all() const { return load + warmup + run + check + other + idle; }
  };
  const Device& device() const { return device_; }
  double build_seconds() const { return build_seconds_; }
  double upload_seconds() const { return upload_seconds_; }
  std::size_t builds() const { return builds_.size(); }
  // Milliseconds of one build, at this share of all of them in order: 0.5 is the
  // median. 0 without builds.
  double build_ms(double quantile) const;

 private:
  Device device_;
  double build_seconds_ = 0, upload_seconds_ = 0;
  std::vector<float> builds_;  // ms
};

}  // namespace fettle::tune
