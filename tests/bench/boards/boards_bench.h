// `fettle-bench boards`: how many boards can this machine feed? Each board is the real agent in a
// process of its own whose kernels take a stated time but, after a first run that is checked, no
// CPU time (simulated_device.h). `fettle broker` and `fettle tune` are what a user has, with their
// defaults. Told is what share of its time each board was busy (board_times.h says of which), and
// the largest number of boards of which none fell below `gate`.
//
// What the simulation costs is this machine's CPU time too, which real boards would not take: a
// trial's first run and checks. It is told apart, and makes the number smaller, not larger.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/wire/result.h"
#include "tests/bench/boards/board_times.h"

namespace fettle::bench {

inline constexpr double kBusyEnough = 0.9;

struct BoardsBenchOptions {
  std::vector<unsigned> boards = {1, 2, 4};
  double kernel_ms = 5;
  std::string network = "resnet-18";
  unsigned trials = 300;  // of each board: a session has so many times the number of boards
  std::uint64_t seed = 1;
  std::optional<double> gate;  // kBusyEnough; where it is given, an Error when no number gets there
  bool json = false;
};

// One session.
struct BoardsRun {
  unsigned boards = 0;
  std::size_t trials = 0, built = 0;
  SessionTimes times;
  double seconds = 0, trials_per_hour = 0;  // as `fettle tune` tells them
  double build_ms_median = 0;               // of one builder
  // Wall clock, by `fettle tune`; the stages overlap. Builds: of all builders together.
  double planning_seconds = 0, build_seconds = 0;
  // Of planning: lowering for features, and training.
  double feature_seconds = 0, training_seconds = 0;
  std::size_t plans = 0, lowered = 0;  // made with a model; configurations
  double thought = 1;  // that they had, as a share of plain thought (host/tune/pace.h)
  // CPU time of the session with its builders and start, of the broker, and of the boards.
  double session_cpu_seconds = 0, broker_cpu_seconds = 0, boards_cpu_seconds = 0;

  // 0 where a board had no trial.
  double least_busy_share() const;
  double builds_per_second() const;
};

// The largest number of boards whose least busy share is `gate` or more; 0: none.
unsigned most_boards(const std::vector<BoardsRun>& runs, double gate);

// Prints. Takes Ctrl-C for its own: all that it started is ended, and the Error is Canceled.
Result<void> run_boards_bench(const BoardsBenchOptions& options);

}  // namespace fettle::bench
