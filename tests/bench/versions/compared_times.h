// What `fettle-bench versions` compares, and its arithmetic: layers' times as one build's
// `fettle-bench kernels --json` writes them, and the ratios of two builds.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct LayerTime {
  double nanoseconds = 0;              // median of the run's rounds
  std::optional<double> onednn_ratio;  // oneDNN's best time over ours, where it was timed
};

// One run of `kernels`.
struct KernelRun {
  std::vector<std::string> layers;             // all of them, in the network's order
  std::map<std::string, LayerTime> times;      // of those that were timed
  std::map<std::string, std::string> missing;  // of the others: why not
};
// From its standard output, JSON lines. An Error names the line that is none, or says that the
// summary, the last line, is not there. Layers of the same title get " (2)", … behind it.
Result<KernelRun> parse_kernel_run(std::string_view lines);

// One build's runs on one network: [seed][turn], each seed with a database of its own, as many
// turns for each.
using KernelRuns = std::vector<std::vector<KernelRun>>;

struct ComparedLayer {
  std::string title;
  LayerTime baseline, candidate;  // of the seed whose median over the turns is least
  std::vector<double> of_turns;   // baseline's time over candidate's in each turn
  // Above 1: the candidate is faster.
  double ratio() const { return baseline.nanoseconds / candidate.nanoseconds; }
};

struct ComparedNetwork {
  std::string network;
  std::vector<ComparedLayer> layers;
  // Timed in no run of that build, with the reason; a layer that neither has is in both.
  std::map<std::string, std::string> missing_in_baseline, missing_in_candidate;
  // Layers that the baseline has and the candidate has not.
  std::vector<std::string> lost() const;
};
ComparedNetwork compare(const std::string& network, const KernelRuns& baseline,
                        const KernelRuns& candidate);

// One tune of each build, same network, seed and trials.
struct ComparedTunes {
  std::string network;
  unsigned seed = 0;
  double baseline_per_hour = 0, candidate_per_hour = 0;  // trials
  double ratio() const { return candidate_per_hour / baseline_per_hour; }
};

struct Spread {
  double geomean = 0, least = 0, most = 0;
};
// Of values above 0; all 0 where there are none.
Spread spread_of(std::span<const double> values);

struct ComparedVersions {
  std::vector<ComparedTunes> tunes;
  std::vector<ComparedNetwork> networks;

  // Over all layers of all networks: the geometric mean; least and most of the single turns.
  Spread kernels() const;
  Spread trials_per_hour() const;  // over the pairs of tunes
};

inline constexpr double kLeastKernels = 0.99, kLeastTrialsPerHour = 1.0;
// Why the candidate does not pass for as fast as the baseline; empty: it does.
std::vector<std::string> slower_because(const ComparedVersions& versions);

}  // namespace fettle::bench
