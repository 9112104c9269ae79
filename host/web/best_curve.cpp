// BestCurve (best_curve.h).
#include "host/web/best_curve.h"

namespace fettle::web {

void BestCurve::add(double seconds, double value) {
  if (!(value > 0)) return;
  if (!points_.empty() && value >= points_.back().second) return;
  points_.emplace_back(seconds, value);
  if (points_.size() <= kMost) return;
  // The first and the last stay: kMost + 1 is odd.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); i += 2) points_[kept++] = points_[i];
  points_.resize(kept);
}

}  // namespace fettle::web
