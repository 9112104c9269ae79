// TimeLeft: when a long series of runs will end, by what runs of each kind took so far.
#pragma once

#include <cstddef>
#include <vector>

namespace fettle::bench {

class TimeLeft {
 public:
  TimeLeft(std::size_t kinds, std::size_t runs_of_each) : kinds_(kinds, {runs_of_each, 0, 0}) {}
  void ran(std::size_t kind, double seconds);
  void was_there(std::size_t kind) { --kinds_[kind].left; }  // nothing to run
  // Kinds that have not run yet count as the mean of those that have.
  double seconds() const;

 private:
  struct Kind {
    std::size_t left = 0, ran = 0;
    double seconds = 0;
  };
  std::vector<Kind> kinds_;
};

}  // namespace fettle::bench
