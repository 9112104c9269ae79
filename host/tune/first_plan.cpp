// Draws, a little evolution by the estimate, and spreading (first_plan.h).
#include "host/tune/first_plan.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "host/tune/evolution.h"

namespace fettle::tune {
namespace {

// Until a model is trained: so many trials, spread over the fastest by the estimate of so many
// draws, as many as this share of them, and of some generations bred from these. An
// estimate that a prior corrected is worth more.
struct First {
  std::size_t trials, draws, generations;
  double share;
};
constexpr First kFirst{8, 128, 0, 0.25}, kFirstWithPrior{4, 128, 2, 0.12};
constexpr std::size_t kSpreadDraws = 24;  // of which the one farthest from all others is taken

const First& how_first(const SearcherOptions& options) {
  return options.prior ? kFirstWithPrior : kFirst;
}

// What the estimate finds fastest of some draws and of what is bred from them, in that
// order; of programs that look the same, one.
std::vector<space::Configuration> promising_draws(const space::SearchSpace& space,
                                                  const SearcherOptions& options,
                                                  LoweredFeatures& lowered,
                                                  const Knowledge& knowledge,
                                                  std::mt19937_64& rng) {
  const First& first = how_first(options);
  std::vector<std::pair<float, space::Configuration>> draws;
  std::unordered_set<std::size_t> programs;
  std::unordered_set<space::Configuration, ConfigurationHash> bred;
  std::vector<space::Configuration> batch;
  const auto draw = [&](space::Configuration candidate) {
    if (knowledge.unseen.contains(candidate) || !bred.insert(candidate).second) return;
    if (lowered.lowers(candidate)) batch.push_back(std::move(candidate));
  };
  const auto consider_batch = [&] {
    for (space::Configuration& candidate : batch) {
      const std::vector<float>* features = lowered.of(candidate);
      if (!programs.insert(features_hash(*features)).second) continue;
      draws.emplace_back(features->at(*options.estimate), std::move(candidate));
    }
    batch.clear();
  };
  const auto faster = [](const auto& a, const auto& b) { return a.first < b.first; };
  for (std::size_t i = 0; i < first.draws; ++i) draw(space.random(rng));
  consider_batch();
  const auto kept = static_cast<std::size_t>(first.share * static_cast<double>(draws.size()));
  std::stable_sort(draws.begin(), draws.end(), faster);
  for (std::size_t generation = 0; generation < first.generations; ++generation) {
    const std::vector<std::pair<float, space::Configuration>> parents(
        draws.begin(),
        draws.begin() + static_cast<std::ptrdiff_t>(std::min(kParents, draws.size())));
    if (parents.empty()) break;
    const auto parent = [&]() -> const auto& { return parents[rng() % parents.size()].second; };
    for (std::size_t i = 0; i < kChildren; ++i) {
      const bool crossed = uniform(rng) < kCrossover;
      space::Configuration child = crossed ? space.crossover(parent(), parent(), rng) : parent();
      if (!crossed || uniform(rng) < 0.5) child = space.mutate(child, rng);
      draw(std::move(child));
    }
    consider_batch();
    std::stable_sort(draws.begin(), draws.end(), faster);
  }
  // The fastest; and where no prior corrected the estimate, which then says little of how one
  // sketch does beside another, the fastest of every sketch.
  std::vector<space::Configuration> promising;
  std::vector<bool> held(space.sketches().size(), false);
  for (auto& [estimate, configuration] : draws) {
    const bool first_of_sketch = !held[configuration.sketch];
    if (promising.size() >= kept && (options.prior || !first_of_sketch)) continue;
    held[configuration.sketch] = true;
    promising.push_back(std::move(configuration));
  }
  return promising;
}

}  // namespace

std::size_t first_trials(const SearcherOptions& options) { return how_first(options).trials; }

std::vector<space::Configuration> first_plan(const space::SearchSpace& space,
                                             const SearcherOptions& options,
                                             LoweredFeatures& lowered, Knowledge& knowledge,
                                             std::size_t n, std::mt19937_64& rng) {
  std::vector<space::Configuration> plan;
  const auto nearest = [&](const space::Configuration& candidate) {
    double least = 1e9;
    for (const auto& trial : knowledge.trials) {
      least = std::min(least, distance(space, candidate, trial.configuration));
    }
    for (const auto& planned : plan) least = std::min(least, distance(space, candidate, planned));
    return least;
  };
  std::vector<space::Configuration> promising;
  if (options.features && options.estimate)
    promising = promising_draws(space, options, lowered, knowledge, rng);
  const std::size_t draws = promising.empty() ? kSpreadDraws : promising.size();
  while (plan.size() < n) {
    std::optional<space::Configuration> farthest;
    double reach = -1;
    for (std::size_t i = 0; i < draws; ++i) {
      space::Configuration candidate = promising.empty() ? space.random(rng) : promising[i];
      if (knowledge.unseen.contains(candidate)) continue;
      const double here = nearest(candidate);
      if (here <= reach || (options.features && !lowered.lowers(candidate))) continue;
      reach = here;
      farthest = std::move(candidate);
    }
    if (farthest) {
      knowledge.unseen.insert(*farthest);
    } else {
      farthest = knowledge.unseen.draw(rng);
    }
    if (!farthest) break;
    plan.push_back(std::move(*farthest));
  }
  return plan;
}

}  // namespace fettle::tune
