// EvolutionaryPlanner: the next trials of one task, from all that is known of it.
//
//   at first: what an estimate of the program's time finds promising, spread out
//   then: train a model of times on the task's trials (and other tasks'), or go on with the last
//   breed candidates from the fastest trials and from what the model finds fast, also
//   among those that earlier plans passed over
//   lower them for their features; drop what does not lower or fails the screen
//   take the predicted fastest, each by another member of the model, but seldom what
//   looks like a program already tried; some places go to changes that nothing is known of, to
//   sketches hardly tried and to options never tried, and to niches with few trials
#pragma once

#include <deque>
#include <optional>
#include <random>
#include <unordered_set>
#include <utility>
#include <vector>

#include "host/cost/time_model.h"
#include "host/tune/knowledge.h"
#include "host/tune/lowered_features.h"
#include "host/tune/niches.h"
#include "host/tune/open_changes.h"
#include "host/tune/searcher.h"
#include "host/tune/tried.h"

namespace fettle::tune {

// Trials that a model still lacks where there are so many of the task. Any thread.
std::size_t trials_missing(const SearcherOptions& options, std::size_t trials);

// Used by one thread at a time.
class EvolutionaryPlanner {
 public:
  // The space must outlive this object.
  EvolutionaryPlanner(const space::SearchSpace& space, const SearcherOptions& options);
  EvolutionaryPlanner(const EvolutionaryPlanner&) = delete;

  struct Place {
    space::Configuration configuration;
    std::size_t features_hash = 0;  // equal: most likely the same program; 0: not known
  };
  // Up to n configurations never seen, in the order they should be tried; none when
  // the space is exhausted. `thought`: share of plain thought (pace.h), of all but first plans.
  std::vector<Place> plan(Knowledge knowledge, std::size_t n, double thought = 1);
  SearchStatistics statistics() const;

 private:
  struct Candidate {
    space::Configuration configuration;
    // Of describe():
    std::vector<float> row;         // features, then knobs
    std::size_t features_hash = 0;  // equal: most likely the same program
    // Of predict():
    std::vector<float> members;  // log times
    float mean = 0;
  };
  using Candidates = std::vector<Candidate>;

  void note_tried(const Knowledge& knowledge);  // tried_, trials_of_
  void find_open_changes(const Knowledge& knowledge);
  Candidates recall(const Knowledge& knowledge, const cost::TimeModel& model);
  Candidates breed_candidates(const Knowledge& knowledge, const cost::TimeModel& model);
  struct Parents {
    std::vector<const space::Configuration*> fast;  // those that stand first breed more often
    std::vector<const space::Configuration*> champions;
  };
  void breed(const Knowledge& knowledge, const Parents& parents, std::size_t count,
             double random_share, Candidates& into);
  void describe(Candidates& candidates, std::size_t from);
  void predict(const cost::TimeModel& model, Candidates& candidates, std::size_t from);
  void breed_fresh(const Knowledge& knowledge,
                   const std::vector<const space::Configuration*>& parents, Candidates& into);
  // Places of the champions of all niches, by the model.
  std::vector<std::size_t> champions_of(const Candidates& candidates) const;
  bool add_candidate(const Knowledge& knowledge, space::Configuration configuration,
                     Candidates& into);
  std::vector<Place> first_places(Knowledge& knowledge, std::size_t n);
  // tried_, trials_of_: of a trial, or a place of the plan in hand.
  void note(const space::Configuration& configuration, std::size_t program);
  void note_planned(const Place& place);  // planned_
  std::vector<Place> choose(const Candidates& candidates, Knowledge& knowledge, std::size_t n);
  Result<void> train(const Knowledge& knowledge);  // model_

  // Place of the champion whose niche has had the fewest trials, of those the model finds fast.
  std::optional<std::size_t> neglected(const Candidates& candidates,
                                       const std::vector<bool>& taken) const;

  const space::SearchSpace& space_;
  const Niches niches_;
  SearcherOptions options_;
  std::mt19937_64 rng_;
  LoweredFeatures lowered_;
  std::optional<cost::TimeModel> model_;  // of the last plan; what it learnt is kept
  std::size_t members_ = 0;               // that were asked for a place by themselves
  // The last plans' places, with hashes of their features: some are under way.
  std::deque<std::pair<space::Configuration, std::size_t>> planned_;
  // Of the plan in hand:
  double thought_ = 1;
  std::unordered_set<space::Configuration, ConfigurationHash> bred_;
  Tried tried_;
  OpenChanges open_;
  std::vector<std::size_t> trials_of_;  // by niche; those of the plan too
  SearchStatistics statistics_;         // but for the lowering
};

}  // namespace fettle::tune
