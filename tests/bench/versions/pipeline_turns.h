// `fettle-bench pipeline --baseline`: does a trial cost the device more than at another commit?
// That build's `fettle-bench pipeline`, with its own agent, and this build's, by turns.
#pragma once

#include <string>
#include <vector>

#include "schemas/wire/result.h"
#include "tests/bench/pipeline_bench.h"

namespace fettle::bench {

struct PipelineTurnsOptions {
  std::string baseline;   // folder with that commit's fettle, fettle-agent and fettle-bench
  std::string candidate;  // the same of what is judged; empty: where this program lies
  unsigned turns = 4;     // of each build; turn i has the seed pipeline.seed + i
  // With `gate`: an Error where the candidate costs more than kMostOverhead allows, or is inside
  // timed kernels for less than least_running_share.
  PipelineBenchOptions pipeline;
};

// Of the medians: overhead of a trial at most so many times the baseline's; the busy share, and
// that over all, at least its so-many-th part.
inline constexpr double kMostOverhead = 1.1;

// The summary that ends what `fettle-bench pipeline --json` writes.
struct PipelineSummary {
  double overhead_ms = 0;         // median, of a trial on the device besides its kernel
  double busy_share = 0;          // of the device, where the builders kept up
  double busy_share_overall = 0;  // with the time that it waited for builders
  double running_share = 0;       // inside timed kernels, of all time
  double build_ms = 0;            // median
  double trials_per_hour = 0;
};
// An Error where the last line is no such summary.
Result<PipelineSummary> parse_pipeline_summary(const std::string& lines);

// Takes Ctrl-C for its own: the child at work is ended, and the Error is Canceled.
Result<void> run_pipeline_turns(const PipelineTurnsOptions& options);

}  // namespace fettle::bench
