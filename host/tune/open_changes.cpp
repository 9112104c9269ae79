// OpenChanges (open_changes.h).
#include "host/tune/open_changes.h"

#include <algorithm>
#include <numeric>

#include "host/tune/evolution.h"

namespace fettle::tune {
namespace {

constexpr double kFast = 1.3;            // times the fastest trial: fast as well
constexpr std::size_t kMostFast = 16;    // of each sketch; more tell the same
constexpr std::size_t kFewOptions = 8;   // of a knob
constexpr std::size_t kMostChanges = 6;  // of a sketch's such knobs, lowered for a plan
constexpr std::size_t kMostDrawn = 16;   // of a knob with more options

using Trial = Knowledge::Trial;

// The fast trials of a sketch, fastest first; none: it has no fast one.
std::vector<const Trial*> fast_ones(const std::vector<Trial>& trials, std::uint32_t sketch,
                                    double fastest) {
  std::vector<const Trial*> fast;
  for (const Trial& trial : trials) {
    if (trial.configuration.sketch == sketch && trial.nanoseconds > 0 && !trial.censored &&
        trial.nanoseconds <= kFast * fastest) {
      fast.push_back(&trial);
    }
  }
  std::stable_sort(fast.begin(), fast.end(),
                   [](const Trial* a, const Trial* b) { return a->nanoseconds < b->nanoseconds; });
  if (fast.size() > kMostFast) fast.resize(kMostFast);
  return fast;
}

// [knob][option]
using Answered = std::vector<std::vector<bool>>;

Answered answered_for(const space::Sketch& sketch, std::uint32_t number,
                      const std::vector<const Trial*>& fast, const std::vector<Trial>& trials) {
  Answered answered;
  for (const space::Knob& knob : sketch.knobs) answered.emplace_back(knob.options.size());
  for (const Trial& trial : trials) {
    if (trial.configuration.sketch != number) continue;
    const auto& choice = trial.configuration.choice;
    const bool near = std::any_of(fast.begin(), fast.end(), [&](const Trial* one) {
      std::size_t different = 0;
      for (std::size_t k = 0; k < choice.size() && different <= 2; ++k)
        different += choice[k] != one->configuration.choice[k];
      return different <= 2;
    });
    for (std::size_t k = 0; near && k < choice.size(); ++k) answered[k][choice[k]] = true;
  }
  return answered;
}

}  // namespace

OpenChanges::OpenChanges(const space::SearchSpace& space, const std::vector<Trial>& trials,
                         const std::function<bool(const space::Configuration&)>& tells_nothing,
                         std::mt19937_64& rng, double thought) {
  const std::size_t most_changes = paced(thought, kMostChanges);
  const std::size_t most_drawn = paced(thought, kMostDrawn);
  double fastest = 0;
  for (const Trial& trial : trials) {
    if (trial.nanoseconds <= 0 || trial.censored) continue;
    if (fastest <= 0 || trial.nanoseconds < fastest) fastest = trial.nanoseconds;
  }
  for (std::uint32_t s = 0; s < space.sketches().size(); ++s) {
    const auto fast = fast_ones(trials, s, fastest);
    if (fast.empty()) continue;
    const auto& knobs = space.sketches()[s].knobs;
    const Answered answered = answered_for(space.sketches()[s], s, fast, trials);
    // Always in the same order: what was lowered for one plan serves the next.
    std::vector<std::size_t> order(knobs.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return knobs[a].options.size() < knobs[b].options.size();
    });
    std::size_t taken = 0;
    for (const std::size_t k : order) {
      const bool few = knobs[k].options.size() <= kFewOptions;
      std::vector<std::uint32_t> options(knobs[k].options.size());
      std::iota(options.begin(), options.end(), 0);
      if (!few) std::shuffle(options.begin(), options.end(), rng);
      const std::size_t most = changes_.size() + (few ? most_changes - taken : most_drawn);
      for (const std::uint32_t option : options) {
        if (answered[k][option] || changes_.size() == most) continue;
        space::Configuration change = fast.front()->configuration;
        change.choice[k] = option;
        if (!space.contains(change) || tells_nothing(change)) continue;
        changes_.push_back(std::move(change));
        taken += few;
      }
    }
  }
  set_.insert(changes_.begin(), changes_.end());
}

}  // namespace fettle::tune
