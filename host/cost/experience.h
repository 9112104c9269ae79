// Experience: what trials of all tasks showed, in features that mean the same for
// every task. Lets the model of one task start with what others taught.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace fettle::cost {

struct Sample {
  std::vector<float> features;  // of the lowered program
  double nanoseconds = 0;       // 0: the trial failed
  bool censored = false;        // at least so long
};

// Thread-safe.
class Experience {
 public:
  // Samples of a task beyond the newest kPerTask are forgotten, but not its fastest.
  static constexpr std::size_t kPerTask = 400;
  void add(const std::string& task, Sample sample);
  // Of all other tasks, with times as multiples of their task's best. Tasks without
  // a measured time are left out. `estimate`: the column of log2 of an estimated time;
  // these multiples are then divided by those that the estimates have.
  std::vector<Sample> beside(const std::string& task,
                             std::optional<std::size_t> estimate = {}) const;
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Sample>> samples_;
};

}  // namespace fettle::cost
