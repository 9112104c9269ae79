// TimeModel: predicts times of one task's programs from its trials and, where they
// are few, from those of other tasks. Several boosters on different parts of the
// data: where they disagree, little is known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/cost/booster.h"
#include "host/cost/experience.h"

namespace fettle::cost {

// One trial of the task itself: features of the program and of the knobs.
struct Trial {
  std::vector<float> row;
  double nanoseconds = 0;  // 0: failed; counts as slower than everything measured
  bool censored = false;
};

struct TimeModelOptions {
  std::size_t members = 3;
  int rounds = 40, depth = 5, bins = 16;
  double learning_rate = 0.3;
  int refit_rounds = 10, most_rounds = 120;
  double foreign_weight = 0.3;     // of a sample of another task
  std::size_t most_foreign = 600;  // samples of other tasks; evenly taken from more
  // The column of log2 of an estimated time. The model then learns by how much the
  // estimate is wrong, and is as good as the estimate before it has learnt anything.
  std::optional<std::size_t> estimate;
};

// Where among a back end's features its estimate is, for TimeModelOptions::estimate.
std::optional<std::size_t> estimate_among(const std::vector<std::string>& feature_names);

class TimeModel {
 public:
  // `columns`: of every row; rows of other tasks have the first of them only, and times
  // as Experience::beside() tells them for the same estimate.
  // InvalidArgument: nothing to learn from: no time among the trials and no others.
  static Result<TimeModel> train(std::size_t columns, const std::vector<Trial>& trials,
                                 const std::vector<Sample>& others, const TimeModelOptions& options,
                                 std::uint32_t seed);

  // The same model after some rounds more, with what was learnt since. It is made anew instead
  // where there are many rounds or many trials more by now, or the fastest trial is much faster
  // than the one that times were told by. Errors as of train().
  static Result<TimeModel> refit(const TimeModel& before, std::size_t columns,
                                 const std::vector<Trial>& trials,
                                 const std::vector<Sample>& others, const TimeModelOptions& options,
                                 std::uint32_t seed);
  int rounds() const { return rounds_; }

  // [member][row]: predicted logarithms (base e) of times; only differences count.
  std::vector<std::vector<float>> predict(const Table& rows) const;
  // Their mean.
  std::vector<float> mean(const Table& rows) const;

 private:
  // What the estimate says of a row, relative to the fastest trial's; base e.
  double expected(std::span<const float> row) const;

  TrainingData data(std::size_t columns, const std::vector<Trial>& trials,
                    const std::vector<Sample>& others, const TimeModelOptions& options) const;

  std::vector<Booster> members_;
  std::optional<std::size_t> estimate_;
  // Of the fastest trial when the model was begun; 0: there was none.
  double reference_ = 0;  // log2 of its estimate
  double unit_ = 0;       // its time in nanoseconds
  std::size_t columns_ = 0, trials_ = 0;
  int rounds_ = 0;
};

}  // namespace fettle::cost
