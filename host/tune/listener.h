// TuneListener: how a session tells what happens. The live view, plain lines and
// JSON lines are listeners; the loop knows none of them.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/records/record.h"
#include "host/tune/certainty.h"
#include "host/tune/searcher.h"
#include "host/tune/time_split.h"
#include "schemas/wire/result.h"

namespace fettle::tune {

// Why a task gets no more candidates.
enum class TaskEnd { None, StoppedEarly, Exhausted };

struct TaskProgress {
  std::string title;
  double weight = 1;
  double operations = 0;                             // nominal, of one run
  std::uint32_t trials = 0, failed = 0, reused = 0;  // of this session and, resumed, earlier ones
  std::optional<double> current_gflops;              // of the latest measured trial
  std::optional<double> best_nanoseconds;
  std::optional<double> best_instructions;  // of one run, where the device counts them, not time
  bool waiting_for_expected = false;        // its expected outputs are still being computed
  TaskEnd end = TaskEnd::None;

  std::optional<double> best_gflops() const {
    if (!best_nanoseconds) return std::nullopt;
    return operations / *best_nanoseconds;
  }
};

struct Progress {
  std::vector<TaskProgress> tasks;
  std::uint32_t trials = 0, trials_wanted = 0;    // resumed ones included
  std::uint32_t resumed = 0;                      // of those, found in the database
  std::map<std::string, std::uint32_t> failures;  // "Run Crash" → how many, this session
  std::uint32_t retried = 0;                      // trials that needed another board
  std::size_t building = 0, waiting = 0, on_boards = 0;
  std::size_t remote_builders = 0;  // compilers of other machines, now
  double peak_gflops = 0;           // of the device; 0: unknown
  std::chrono::duration<double> elapsed{0};
  std::optional<std::chrono::duration<double>> left;  // estimate
  std::uint32_t finals = 0, finals_wanted = 0;        // measurements behind the trials (finals.h)
  std::chrono::duration<double> finals_elapsed{0};    // of `elapsed`
  // Device time over device time plus the gaps between requests; empty before the second trial.
  std::optional<double> busy_share;
  // Share of the session in which no built candidate was there for the boards.
  double supply_limited_share = 0;

  // Of this session, while it made trials.
  double trials_per_hour() const {
    const double seconds = (elapsed - finals_elapsed).count();
    return seconds > 0 ? (trials - resumed) / seconds * 3600 : 0;
  }

  // Of one run of all tasks, each as often as its weight says, at its best; empty while one has
  // none.
  std::optional<double> sum_nanoseconds() const {
    double sum = 0;
    for (const TaskProgress& task : tasks) {
      if (!task.best_nanoseconds) return std::nullopt;
      sum += task.weight * *task.best_nanoseconds;
    }
    return sum;
  }
};

enum class SessionEnd { Finished, Interrupted, Failed };

struct TuneSummary {
  Progress progress;
  SessionEnd end = SessionEnd::Finished;
  std::optional<Error> error;  // Failed: what ended the session
  SearchStatistics search;     // of all tasks together
  TimeSplit time;              // of this session's trials
  Certainty certainty;         // of their times
  bool all_failed = false;     // trials were made in this session and none succeeded
  std::string main_cause;      // the commonest failure with one message; "" when none
};

class TuneListener {
 public:
  virtual ~TuneListener() = default;
  // A trial ended; the record is stored already. `task` indexes Progress::tasks.
  virtual void trial_done(std::size_t task, const records::TuningRecord& record,
                          const Progress& progress) = 0;
  // The finals of a task were held, and are stored.
  virtual void confirmed(std::size_t /*task*/, std::span<const records::Confirmation>,
                         const Progress&) {}
  // Several times a second, for live views.
  virtual void tick(const Progress& progress) = 0;
  // Something the user must know now, one line.
  virtual void warn(const std::string& line) = 0;
};

}  // namespace fettle::tune
