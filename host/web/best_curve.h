// The best value so far over time, in bounded memory.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace fettle::web {

class BestCurve {
 public:
  static constexpr std::size_t kMost =
      64;  // points; where it rose more often, every other one goes

  // Smaller is better. `seconds` do not fall from call to call.
  void add(double seconds, double value);
  bool empty() const { return points_.empty(); }
  double first() const { return points_.front().second; }  // stays; not of an empty one
  double best() const { return points_.back().second; }
  // (seconds, best from then on), the first one and each that was better.
  const std::vector<std::pair<double, double>>& points() const { return points_; }

 private:
  std::vector<std::pair<double, double>> points_;
};

}  // namespace fettle::web
