// `fettle-bench host`: what a session of this machine costs the host, beside another commit's. The
// same networks, seeds and trials, tuned by turns with the programs of both.
#pragma once

#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct HostTurnsOptions {
  std::string baseline;   // folder with that commit's fettle and fettle-agent
  std::string candidate;  // the same of what is judged; empty: where this program lies
  std::vector<std::string> networks = {"resnet-18"};
  unsigned seeds = 2;  // sessions of each network and side
  unsigned trials = 600;
  bool json = false;
};

// One session, as `fettle tune --json` sums it up. Stages are wall-clock time: where one core is
// shared, each counts the other's time, too. cpu_ms is of all processes of the session, the
// device's among them.
struct HostSession {
  double trials_per_hour = 0, busy_share = 0, build_ms_median = 0;
  double build_ms = 0, features_ms = 0, model_ms = 0;  // per trial
  double cpu_ms = 0;                                   // per trial
  double lowered = 0, plans = 0;                       // per trial
  std::vector<double> best_ns;                         // of its tasks, in their order; 0: none
  double host_ms() const { return build_ms + features_ms + model_ms; }
};
// From what the session wrote, without cpu_ms. Malformed: its last line is no summary.
Result<HostSession> parse_host_session(const std::string& lines);

// How many times faster `after`'s kernels are: the geometric mean over tasks that both have.
double kernels_ratio(const HostSession& before, const HostSession& after);

// Takes Ctrl-C for its own: the child at work is ended, and the Error is Canceled.
Result<void> run_host_turns(const HostTurnsOptions& options);

}  // namespace fettle::bench
