// Simulated annealing over configurations: parallel chains that walk a space towards
// the best predicted scores, as AutoTVM plans its trials.
#pragma once

#include <functional>
#include <span>
#include <unordered_set>

#include "host/tune/unseen.h"

namespace fettle::tune {

// Higher is better; one score a configuration.
using ScoreFunction = std::function<std::vector<float>(std::span<const space::Configuration>)>;

struct AnnealingOptions {
  std::size_t chains = 128;
  int steps = 500;
  int patience = 50;  // steps without a change among the best, until it ends
};

class Annealing {
 public:
  // The space must outlive this object.
  Annealing(const space::SearchSpace& space, const AnnealingOptions& options)
      : space_(space), options_(options) {}
  // The `n` best configurations seen on the way that are not in `unseen`'s set, best
  // first. The chains stay where they are for the next call.
  std::vector<space::Configuration> maximums(std::size_t n, const ScoreFunction& score,
                                             const Unseen& unseen, std::mt19937_64& rng);

 private:
  const space::SearchSpace& space_;
  AnnealingOptions options_;
  std::vector<space::Configuration> points_;
};

}  // namespace fettle::tune
