// Which candidates get a plan's places, and in which order (evolutionary_planner.h).
#include <algorithm>
#include <cmath>

#include "host/tune/crowding.h"
#include "host/tune/evolution.h"
#include "host/tune/evolutionary_planner.h"

namespace fettle::tune {
namespace {

constexpr double kEpsilon = 0.05;   // of a plan: random, whatever the model says
constexpr double kCloseness = 0.1;  // log time that a candidate close to a planned one loses
constexpr double kTwin = 10;        // log time that an equal feature vector loses
// Places of a plan that are not the model's. A plan is often replaced by the next one when its
// first few trials have begun, so these stand in front.
constexpr std::size_t kEvery = 4;         // of so many places
constexpr std::size_t kOpenPlace = 1;     // this one is a change's that nothing is known of; or, in
                                          // every other plan, a fresh sketch's or option's
constexpr std::size_t kNichePlace = 3;    // this one is a champion's
constexpr double kChampionBehind = 0.22;  // log time behind the fastest: not worth a place

}  // namespace

std::optional<std::size_t> EvolutionaryPlanner::neglected(const Candidates& candidates,
                                                          const std::vector<bool>& taken) const {
  // By niche, of candidates that are no twins of a trial: the fastest one.
  std::vector<std::optional<std::size_t>> champion(niches_.count());
  std::optional<std::size_t> fastest;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (taken[i] || tried_.looks_tried(candidates[i].features_hash)) continue;
    const auto faster = [&](const std::optional<std::size_t>& than) {
      return !than || candidates[i].mean < candidates[*than].mean;
    };
    if (faster(fastest)) fastest = i;
    for (const std::size_t niche : niches_.of(candidates[i].configuration)) {
      if (faster(champion[niche])) champion[niche] = i;
    }
  }
  std::optional<std::size_t> best;
  std::pair<std::size_t, float> least;  // trials, time
  for (std::size_t niche = 0; niche < champion.size(); ++niche) {
    if (!champion[niche]) continue;
    const std::size_t i = *champion[niche];
    if (candidates[i].mean > candidates[*fastest].mean + kChampionBehind) continue;
    const std::pair here(trials_of_[niche], candidates[i].mean);
    if (!best || here < least) best = i, least = here;
  }
  return best;
}

// Every other of the model's places goes to the best by the mean, those between to the best by one
// member; and what is close to a place already taken, or to many trials, must be better for it. So
// a batch is spread where the members disagree, and over what looks equally good. Equal features
// are most likely one program, which would be measured once only. The model knows nothing of a
// sketch or an option that was never tried, and may be wrong about it for ever: some places are
// kept for those.
std::vector<EvolutionaryPlanner::Place> EvolutionaryPlanner::choose(const Candidates& candidates,
                                                                    Knowledge& knowledge,
                                                                    std::size_t n) {
  std::vector<Place> plan;
  std::vector<bool> taken(candidates.size(), false);
  // By the trials and the places taken that are close.
  std::vector<double> lost(candidates.size());
  bool by_mean = true;
  const Crowding crowding(space_, knowledge.trials);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    lost[i] = crowding.of(candidates[i].configuration);
  const auto best_of = [&](const auto& among) {
    std::optional<std::size_t> best;
    double least = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& candidate = candidates[i];
      if (taken[i] || !among(candidate)) continue;
      const auto& members = candidate.members;
      double value = by_mean ? candidate.mean : members[members_ % members.size()];
      value += lost[i];
      if (tried_.looks_tried(candidate.features_hash)) value += kTwin;
      if (!best || value < least) best = i, least = value;
    }
    return best;
  };
  while (plan.size() < n) {
    std::optional<std::size_t> best;
    const std::size_t place = plan.size() % kEvery;
    if (place == kNichePlace) {
      best = neglected(candidates, taken);
    } else if (place == kOpenPlace && statistics_.plans % 2 == 0) {
      best = best_of([&](const Candidate& of) { return tried_.of_rare_sketch(of.configuration); });
      if (!best) {
        best = best_of([&](const Candidate& of) {
          return tried_.holds_untried(of.configuration) && !tried_.looks_tried(of.features_hash);
        });
      }
    }
    if (place == kOpenPlace && !best) {
      best = best_of([&](const Candidate& of) {
        return open_.contains(of.configuration) && !tried_.looks_tried(of.features_hash);
      });
    }
    if (!best && uniform(rng_) >= kEpsilon) {
      best = best_of([](const Candidate&) { return true; });
      members_ += !by_mean;
      by_mean = !by_mean;
    }
    if (best) {
      const space::Configuration& chosen = candidates[*best].configuration;
      taken[*best] = true;
      knowledge.unseen.insert(chosen);
      plan.push_back({chosen, candidates[*best].features_hash});
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        lost[i] += kCloseness * std::exp(-distance(space_, chosen, candidates[i].configuration));
      }
    } else if (auto drawn = knowledge.unseen.draw(rng_)) {
      const std::vector<float>* features = options_.features ? lowered_.of(*drawn) : nullptr;
      plan.push_back({std::move(*drawn), features ? features_hash(*features) : 0});
    } else {
      break;
    }
    note(plan.back().configuration, plan.back().features_hash);
    note_planned(plan.back());
  }
  return plan;
}

}  // namespace fettle::tune
