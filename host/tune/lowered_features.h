// LoweredFeatures: the features of every configuration that a task's planner ever lowered,
// and the pool of those that no plan took yet.
#pragma once

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/tune/knowledge.h"
#include "host/tune/searcher.h"

namespace fettle::tune {

// Equal: most likely the same program. 0: no features.
std::size_t features_hash(std::span<const float> features);

// Used by one thread at a time.
class LoweredFeatures {
 public:
  // Both outlive this object.
  LoweredFeatures(const space::SearchSpace& space, const SearcherOptions& options)
      : space_(space), options_(options) {}

  // False: it makes no program, or one that the screen took out. Lowered at its first call, and
  // put into the pool; what a prior corrects, it does for many at once, when the first of them is
  // asked for.
  bool lowers(const space::Configuration& configuration);
  // Null where lowers() is false; the answer is valid as long as this object.
  const std::vector<float>* of(const space::Configuration& configuration);
  // A resumed trial comes without: it is lowered once more.
  const std::vector<float>& of(const Knowledge::Trial& trial);
  // What the model is trained on and asked about: features, NaN for those there are not, then
  // knobs.
  std::vector<float> row(const space::Configuration& configuration,
                         const std::vector<float>& features) const;

  // Empties the pool; what is to stay in it is put back.
  std::vector<space::Configuration> take_pool() { return std::exchange(pool_, {}); }
  void put_back(const space::Configuration& configuration) { pool_.push_back(configuration); }

  // Of the lowering only.
  const SearchStatistics& statistics() const { return statistics_; }

 private:
  std::vector<float>& lowered(const space::Configuration& configuration);

  const space::SearchSpace& space_;
  const SearcherOptions& options_;
  // Empty: it does not lower, or was screened out.
  std::unordered_map<space::Configuration, std::vector<float>, ConfigurationHash> features_;
  std::vector<std::vector<float>*> uncorrected_;  // of features_
  std::vector<space::Configuration> pool_;
  SearchStatistics statistics_;
};

}  // namespace fettle::tune
