// Pace: how much thought plans are worth, by whether boards wait. Where builds and plans share too
// few cores, thought takes time that boards stand idle: plans that queue up, or come too late, are
// then made of fewer candidates, and each serves more trials, until the boards are busy enough.
#pragma once

#include <atomic>

namespace fettle::tune {

// One of a session. add() by one thread, thought() by any.
class Pace {
 public:
  // A trial has ended: it took its board so long, which had waited so long for it. Both >= 0.
  void add(double busy_ns, double waited_ns);

  // Share of plain thought, kLeastThought to 1.
  double thought() const { return thought_.load(std::memory_order_relaxed); }

  static constexpr double kLeastThought = 0.5;

 private:
  double busy_ns_ = 0, waited_ns_ = 0;  // of the last trials, older ones weighing less
  std::atomic<double> thought_ = 1;
};

}  // namespace fettle::tune
