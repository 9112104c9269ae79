// Where the time of a session's boards went, one by one, by its records.
//
// A board's busy share is the one of `fettle tune`, of that board alone: the time from taking a
// request up to its outcome, over that and the time that the board waited for the request. Its
// first trial is left out, as it waited for the session. So it is the share of the time from the
// end of the first to the end of the last trial in which the board was busy. `later` is of the
// second half of its trials: without the session's beginning.
#pragma once

#include <string>
#include <vector>

#include "host/records/record.h"

namespace fettle::bench {

struct BoardTimes {
  std::string board_id;
  std::size_t trials = 0, failed = 0;
  double busy_share = 0, later_busy_share = 0;  // 0: too few trials
  // Medians of a trial on the board, and of its parts (StageTimes); of those that gave a time.
  double trial_ms = 0, load_ms = 0, warmup_ms = 0, run_ms = 0, check_ms = 0;
  double kernel_ms = 0;       // median of one run
  std::size_t samples = 0;    // of all trials
  std::size_t disturbed = 0;  // and those that were thrown away
};

struct SessionTimes {
  std::vector<BoardTimes> boards;  // by id
  std::size_t elsewhere = 0;  // trials that no board saw: not built, or a program known already
  double least_busy_share() const;  // of its boards
};

// `records`: of one session, in the order of their ids.
SessionTimes board_times(const std::vector<records::TuningRecord>& records);

}  // namespace fettle::bench
