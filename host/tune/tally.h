// Tally: what the ended trials of a session add up to: how the tasks stand, why trials
// failed, where the boards' time went.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "host/tune/listener.h"
#include "host/tune/pace.h"

namespace fettle::tune {

class Tally {
 public:
  // Its results go to `progress` and `pace` (which may be null), too; they outlive this object.
  explicit Tally(Progress& progress, Pace* pace = nullptr) : progress_(progress), pace_(pace) {}

  // A trial of an earlier session, resumed.
  void add_resumed(std::size_t task, const records::TuningRecord& record);
  // One of this session. `attempt`: on which board in turn it ended; 1: the first.
  void add(std::size_t task, const records::TuningRecord& record, std::uint32_t attempt);
  void add_build(std::uint64_t nanoseconds) { time_.add_build(nanoseconds); }

  // Of this session.
  std::uint32_t finished() const { return finished_; }
  bool all_failed() const { return succeeded_ == 0 && finished_ > 0; }
  // The last so many ended for want of a board, or of builders that can build.
  std::uint32_t lost_in_a_row() const { return lost_in_a_row_; }
  bool lost_to_builders() const { return lost_to_builders_; }  // the last of these
  const std::string& last_loss() const { return last_loss_; }
  std::string main_cause() const;  // the commonest failure with one message; "" when none
  const TimeSplit& time() const { return time_; }
  const Certainty& certainty() const { return certainty_; }

 private:
  struct Cause {
    std::uint32_t count = 0;
    std::string message;
  };
  void count(std::size_t task, const records::TuningRecord& record);
  void add_times(const records::TuningRecord& record);

  Progress& progress_;
  Pace* pace_;
  std::uint32_t finished_ = 0, succeeded_ = 0, lost_in_a_row_ = 0;
  bool lost_to_builders_ = false;
  double busy_ns_ = 0, gap_ns_ = 0;
  TimeSplit time_;
  Certainty certainty_;
  std::set<std::string> boards_seen_;
  std::map<std::string, Cause> causes_;
  std::string last_loss_;
};

}  // namespace fettle::tune
