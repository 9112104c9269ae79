// TimeLeft (time_left.h).
#include "tests/bench/time_left.h"

namespace fettle::bench {

void TimeLeft::ran(std::size_t kind, double seconds) {
  --kinds_[kind].left;
  ++kinds_[kind].ran;
  kinds_[kind].seconds += seconds;
}

double TimeLeft::seconds() const {
  double took = 0, ran = 0;
  for (const Kind& kind : kinds_) took += kind.seconds, ran += static_cast<double>(kind.ran);
  if (ran == 0) return 0;
  double left = 0;
  for (const Kind& kind : kinds_) {
    const double each = kind.ran > 0 ? kind.seconds / static_cast<double>(kind.ran) : took / ran;
    left += each * static_cast<double>(kind.left);
  }
  return left;
}

}  // namespace fettle::bench
