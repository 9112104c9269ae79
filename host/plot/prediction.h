// Measured against predicted: how well the cost model orders programs of a task that
// it has not seen.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace fettle::plot {

struct MeasuredTrial {
  std::string configuration;  // SearchSpace::to_json
  double nanoseconds = 0;     // per run, positive
};

struct HeldBackTrial {
  double predicted = 0, measured = 0;  // nanoseconds per run
};

struct Prediction {
  std::vector<HeldBackTrial> held_back;
  double rank_correlation = 0;  // Spearman's, of `held_back`
};

// Records hold no predictions: the model learns here from every second configuration
// and predicts the others. It sees the knobs only (knob_features.h), whereas a search
// also sees the lowered program. At most kMostLearnt configurations, the newest.
// Empty: fewer than kFewestLearnt of them, times that are all the same, or a task that
// this program has no search space for.
constexpr std::size_t kFewestLearnt = 40, kMostLearnt = 2000;
std::optional<Prediction> predict_held_back(const std::string& workload, const std::string& target,
                                            const std::vector<MeasuredTrial>& trials);

// Spearman's rank correlation of equally many numbers, -1 to 1; equal numbers share
// their mean rank. NaN when either side is constant.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace fettle::plot
