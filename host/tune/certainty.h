// Certainty: how well the times of a session's trials are known.
//
// A trial on a quiet machine ends once its median is known to the hundredth that MeasureOptions
// asks for. Where something else uses the core, its samples run out before: another program, or a
// neighbour of a virtual machine, who may take another hardware thread of the same core. They also
// do where few are allowed. Programs that are nearer to each other than their times are known are
// hardly told apart.
#pragma once

#include <cstddef>
#include <vector>

#include "schemas/measure_generated.h"

namespace fettle::tune {

class Certainty {
 public:
  // A trial that was measured. One that lost its race says nothing, nor do counted instructions or
  // a single sample.
  void add(const wire::MeasurementT& measurement);

  std::size_t trials() const { return half_intervals_.size(); }
  // Half the 95 % interval of a trial's median time, beside that median: the middle one of all
  // trials. 0 without trials.
  double half_interval() const;
  // Of all samples that were taken: those that were disturbed and so taken again.
  double disturbed_share() const;

  // Of enough trials the most are known this badly or worse.
  bool poor() const { return trials() >= kFewTrials && half_interval() > kPoor; }
  static constexpr std::size_t kFewTrials = 20;
  static constexpr double kPoor = 0.03;

 private:
  std::vector<float> half_intervals_;
  std::size_t samples_ = 0, disturbed_ = 0;  // samples_: all
};

}  // namespace fettle::tune
