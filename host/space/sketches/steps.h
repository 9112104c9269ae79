// What sketches are written with: options of knobs, and a list of steps that stops
// at the first that does not fit.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "host/space/schedule.h"

namespace fettle::space {

using Options = std::vector<std::vector<std::int64_t>>;

inline Options plain(std::initializer_list<std::int64_t> values) {
  Options out;
  for (std::int64_t v : values) out.push_back({v});
  return out;
}

// 1, 2, 4, … up to 16 and below `extent`, and 0: all of it.
inline Options powers_and_all(std::int64_t extent) {
  Options out;
  for (std::int64_t n = 1; n < extent && n <= 16; n *= 2) out.push_back({n});
  out.push_back({0});
  return out;
}

// Divisors of `extent` up to `most`.
inline Options divisors(std::int64_t extent, std::int64_t most) {
  Options out;
  for (std::int64_t f = 1; f <= std::min(extent, most); ++f) {
    if (extent % f == 0) out.push_back({f});
  }
  return out;
}

inline std::int64_t largest_power(std::int64_t at_most) {
  std::int64_t power = 1;
  while (2 * power <= at_most) power *= 2;
  return power;
}

// Elements of a task along an axis, from a count of register tiles; 0: all.
inline std::int64_t task_extent(std::int64_t tiles, std::int64_t size, std::int64_t extent) {
  return tiles == 0 ? extent : std::min(extent, tiles * size);
}

class Steps {
 public:
  // Goes on after the steps that the schedule has.
  explicit Steps(Schedule begun) : schedule_(std::move(begun)) {}
  void operator()(const Step& step) {
    if (error_) return;
    auto done = schedule_.apply(step);
    if (!done) error_ = std::move(done).error();
  }
  void split(const std::string& stage, const std::string& loop, std::int64_t factor,
             const std::string& outer, const std::string& inner) {
    (*this)(SplitStep{stage, loop, factor, outer, inner});
  }
  void parallel(const std::string& stage, const std::vector<std::string>& loops) {
    (*this)(FuseStep{stage, loops, "task"});
    (*this)(AnnotateStep{stage, "task", ir::ForKind::Parallel});
  }
  void unroll(const std::string& stage, std::initializer_list<std::string> loops) {
    for (const std::string& loop : loops) {
      (*this)(AnnotateStep{stage, loop, ir::ForKind::Unrolled});
    }
  }
  void vectorize(const std::string& stage, const std::string& loop) {
    (*this)(AnnotateStep{stage, loop, ir::ForKind::Vectorized});
  }
  // Nothing is done any more; of several errors the first is told.
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  const ComputeDag& dag() const { return schedule_.dag(); }  // as the steps have made it
  Result<Schedule> finish() {
    if (error_) return std::move(*error_);
    return std::move(schedule_);
  }

 private:
  Schedule schedule_;
  std::optional<Error> error_;
};

}  // namespace fettle::space
