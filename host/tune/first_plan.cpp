// Draws, a little evolution by the estimate, and spreading (first_plan.h).
#include "host/tune/first_plan.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "host/tune/evolution.h"
#include "host/tune/niches.h"

namespace fettle::tune {
namespace {

// Until a model is trained: so many trials, spread over champions of niches (niches.h) by the
// estimate, of so many draws and of generations that are bred from these. An estimate that a prior
// corrected is worth more thought, and fewer trials.
struct First {
  std::size_t trials, draws, generations, children;  // of each generation
};
constexpr First kFirst{8, 128, 12, 8}, kFirstWithPrior{4, 128, 32, 8};
constexpr std::size_t kFastest = 4;       // breed as often as all champions of niches
constexpr float kFarBehind = 0.5;         // log2 of the estimate: what is not tried at first
constexpr std::size_t kSpreadDraws = 24;  // of which the one farthest from all others is taken

First how_first(const SearcherOptions& options) {
  First first = options.prior ? kFirstWithPrior : kFirst;
  first.draws = worth_thought(options, first.draws);
  first.generations = worth_thought(options, first.generations);
  return first;
}

using Draw = std::pair<float, space::Configuration>;  // by the estimate

// What the estimate finds fastest of some draws and of what is bred from them, in that
// order; of programs that look the same, one.
std::vector<space::Configuration> promising_draws(const space::SearchSpace& space,
                                                  const SearcherOptions& options,
                                                  LoweredFeatures& lowered, const Tried& tried,
                                                  const Knowledge& knowledge,
                                                  std::mt19937_64& rng) {
  const First first = how_first(options);
  std::vector<Draw> draws;
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
      const std::size_t program = features_hash(*features);
      if (tried.looks_tried(program) || !programs.insert(program).second) continue;
      draws.emplace_back(features->at(*options.estimate), std::move(candidate));
    }
    batch.clear();
  };
  const Niches niches(space);
  const auto champions_of = [&](const std::vector<Draw>& ranked) {
    std::vector<const space::Configuration*> configurations;
    for (const Draw& one : ranked) configurations.push_back(&one.second);
    return champions(niches, configurations);
  };
  const auto faster = [](const auto& a, const auto& b) { return a.first < b.first; };
  for (std::size_t i = 0; i < first.draws; ++i) draw(space.random(rng));
  consider_batch();
  std::stable_sort(draws.begin(), draws.end(), faster);
  for (std::size_t generation = 0; generation < first.generations; ++generation) {
    if (draws.empty()) break;
    const auto best = champions_of(draws);
    const auto parent = [&]() -> const auto& {
      const bool fast = best.empty() || rng() % 2 == 0;
      return draws[fast ? rng() % std::min(kFastest, draws.size()) : best[rng() % best.size()]]
          .second;
    };
    for (std::size_t i = 0; i < first.children; ++i) {
      const bool crossed = uniform(rng) < kCrossover;
      space::Configuration child = parent();
      if (crossed) child = space.crossover(child, parent(), rng);
      if (!crossed || uniform(rng) < 0.5) child = space.mutate(child, rng);
      draw(std::move(child));
    }
    consider_batch();
    std::stable_sort(draws.begin(), draws.end(), faster);
  }
  std::vector<space::Configuration> promising;
  for (const std::size_t place : champions_of(draws)) {
    if (draws[place].first > draws.front().first + kFarBehind) break;
    promising.push_back(std::move(draws[place].second));
  }
  return promising;
}

}  // namespace

std::size_t first_trials(const SearcherOptions& options) { return how_first(options).trials; }

std::vector<space::Configuration> first_plan(const space::SearchSpace& space,
                                             const SearcherOptions& options,
                                             LoweredFeatures& lowered, const Tried& tried,
                                             Knowledge& knowledge, std::size_t n,
                                             std::mt19937_64& rng) {
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
    promising = promising_draws(space, options, lowered, tried, knowledge, rng);
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
