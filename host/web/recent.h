// How much of the last ten minutes was spent, in steps of ten seconds: a device at its work.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace fettle::web {

class Recent {
 public:
  static constexpr double kStep = 10;  // seconds
  static constexpr std::size_t kSteps = 60;

  // From `begin` to `end`, seconds on one clock; what is older than the steps counts for nothing.
  void spent(double begin, double end);
  // Shares from 0 to 1, the oldest step first; the running step's is of what is over of it, once
  // that is some seconds. None before `since`: nobody looked then.
  std::vector<double> shares(double since, double now) const;
  // Of the last minute, or of the time since `since` where that is less.
  double last_minute(double since, double now) const;

 private:
  double at(std::int64_t step) const;

  struct Step {
    std::int64_t number = -1;  // since the clock's zero
    double seconds = 0;
  };
  std::array<Step, kSteps> steps_{};
};

}  // namespace fettle::web
