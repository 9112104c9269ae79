// The statistics of samples: median and its 95 % confidence interval.
#pragma once

#include <span>

namespace fettle::agent {

struct MedianInterval {
  double median = 0, low = 0, high = 0;
};

// Values: time per run of each sample, in any order; not empty.
// Six or more: distribution-free, from order statistics (the sign test's interval).
// Fewer: Student's t with the median's efficiency (1.2533), which assumes
// near-normal noise; order statistics of so few values cannot reach 95 %. A single
// value gives [0, infinity).
MedianInterval median_interval(std::span<const double> values);

}  // namespace fettle::agent
