// Where a device's time went: the accounting behind `fettle-bench pipeline`.
//
// The device's time is a row of trials with gaps in between. A gap, or the part
// of it, in which no built candidate was anywhere is *supply-limited*: the
// builders were too slow, which says nothing of the pipeline. The rest of the
// gaps is overhead, and so is what a trial spends on the device outside of its
// kernel's runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "schemas/measure_generated.h"

namespace fettle::bench {

using TimePoint = std::chrono::steady_clock::time_point;

// One trial as the host saw it.
struct Seen {
  std::uint64_t trial = 0;
  std::uint64_t build_ns = 0;
  TimePoint built;      // its program came from the builder
  TimePoint completed;  // its outcome came from the device
  wire::OutcomeT outcome;
};

struct TrialTimes {
  std::uint64_t trial = 0;
  bool measured = false;
  std::string failure;   // code, when not measured
  double kernel_ms = 0;  // median of one run
  double build_ms = 0;
  double total_ms = 0;               // device time of the trial
  double running_ms = 0;             // of it inside kernel runs: samples, warm-up, the check's run
  double sampled_ms = 0;             // of that inside samples
  double load_ms = 0, check_ms = 0;  // of it, as the schema says: not running
  double gap_ms = 0;                 // device idle before it
  double supply_ms = 0;              // of the gap: no built candidate was there
  // Device time that is neither kernel nor waiting for builders.
  double overhead_ms() const { return total_ms - running_ms + gap_ms - supply_ms; }
};

struct Summary {
  std::size_t trials = 0, failed = 0;
  double busy_share = 0;  // device time / device time and gaps, supply-limited ones left out
  double busy_share_overall = 0;    // with them
  double supply_limited_share = 0;  // of the session's device time and gaps
  double running_share = 0;         // inside kernel runs, of the same
  double sampled_share = 0;         // of that: inside samples, without warm-up and the check's run
  double overhead_ms_median = 0, overhead_ms_p90 = 0;
  double load_ms_median = 0, check_ms_median = 0;  // parts of the overhead
  double kernel_ms_median = 0, build_ms_median = 0;
  double trials_per_hour = 0;
  double wall_s = 0;  // from the end of the first trial to the end of the last
};

// `seen` in the order of completion, all of one device. The first trial's gap is
// the session's start and is left out, and with it the first trial.
std::vector<TrialTimes> account(const std::vector<Seen>& seen);
Summary summarise(const std::vector<TrialTimes>& trials, double wall_s);
double median_of(std::vector<double> values);

}  // namespace fettle::bench
