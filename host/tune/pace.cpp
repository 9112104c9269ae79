// Pace (pace.h).
#include "host/tune/pace.h"

#include <algorithm>

namespace fettle::tune {
namespace {

constexpr double kKept = 1 - 1.0 / 32;  // what a trial leaves of the weight of those before
constexpr double kBusyEnough = 0.92;    // share of their time
constexpr double kStep = 0.02;          // of the thought, with each trial

}  // namespace

void Pace::add(double busy_ns, double waited_ns) {
  busy_ns_ = busy_ns_ * kKept + busy_ns;
  waited_ns_ = waited_ns_ * kKept + waited_ns;
  const bool enough = busy_ns_ >= kBusyEnough * (busy_ns_ + waited_ns_);
  const double next = thought() * (enough ? 1 + kStep : 1 - kStep);
  thought_.store(std::clamp(next, kLeastThought, 1.0), std::memory_order_relaxed);
}

}  // namespace fettle::tune
