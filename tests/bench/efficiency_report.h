// What `fettle-bench efficiency` tells of its runs: how many trials each searcher took to come near
// the best that is known of a layer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace fettle::bench {

// What a search had after each of its trials: [i] is the least time of the first i + 1,
// 0 before the first one that was measured. An empty time: failed, or stopped early.
std::vector<double> best_so_far(std::span<const std::optional<double>> nanoseconds);
// best / what the search had after `trials`; empty: it has not made so many.
std::optional<double> share_reached(std::span<const double> curve, unsigned trials, double best);
// The first trial after which it had `share` of the best; empty: never so far.
std::optional<unsigned> trials_to(std::span<const double> curve, double share, double best);

// A searcher as it is compared.
struct EfficiencyArm {
  std::string name;
  unsigned trials = 0;
};

// One arm's search of one layer from one seed, to its end.
struct EfficiencyRun {
  std::size_t layer = 0, arm = 0;
  std::uint64_t seed = 0;
  std::vector<double> curve;
  unsigned reused = 0;  // trials by a program that another run had measured
};

struct EfficiencyLayer {
  std::string title;
  double best = 0;  // nanoseconds, of all that is known of it; 0: nothing
};

// Only seeds of a layer that every arm has searched count. A run that never had 95 % counts as one
// trial more than the longest arm may make, so that a short arm gains nothing by ending early.
//   {"searchers": {NAME: …}, "layers": {TITLE: {NAME: …}}, …}; means are over layers and seeds,
//   "trials_to_95_seed_deviation" is that of the seeds' means over all layers.
nlohmann::json efficiency_summary(const std::vector<EfficiencyArm>& arms,
                                  const std::vector<EfficiencyLayer>& layers,
                                  const std::vector<EfficiencyRun>& runs);
// A run by itself.
nlohmann::json efficiency_line(const std::vector<EfficiencyArm>& arms,
                               const std::vector<EfficiencyLayer>& layers,
                               const EfficiencyRun& run);
// A summary for people.
std::string efficiency_table(const std::vector<EfficiencyArm>& arms, const nlohmann::json& summary);

}  // namespace fettle::bench
