// EvolutionaryPlanner: the next trials of one task, from all that is known of it.
//
//   at first: what an estimate of the program's time finds promising, spread out
//   then: train a model of times on the task's trials (and other tasks')
//   breed candidates from the fastest trials and from what the model finds fast, also
//   among those that earlier plans passed over
//   lower them for their features; drop what does not lower or fails the screen
//   take the predicted fastest, each by another member of the model, but seldom what
//   looks like a program already tried; some places go to options never tried
#pragma once

#include <random>
#include <unordered_map>
#include <vector>

#include "host/cost/time_model.h"
#include "host/tune/searcher.h"
#include "host/tune/unseen.h"

namespace fettle::tune {

// A copy of what a searcher has seen, so that a plan can be made on another thread.
struct Knowledge {
  struct Trial {
    space::Configuration configuration;
    double nanoseconds = 0;  // 0: failed
    bool censored = false;
    std::vector<float> features;  // may be empty
  };
  std::vector<Trial> trials;
  Unseen unseen;
};

// Used by one thread at a time.
class EvolutionaryPlanner {
 public:
  // The space must outlive this object.
  EvolutionaryPlanner(const space::SearchSpace& space, const SearcherOptions& options);

  // Up to n configurations never seen, in the order they should be tried; none when
  // the space is exhausted.
  std::vector<space::Configuration> plan(Knowledge knowledge, std::size_t n);
  const SearchStatistics& statistics() const { return statistics_; }

 private:
  struct Candidate {
    space::Configuration configuration;
    std::vector<float> row;         // features, then knobs
    std::size_t features_hash = 0;  // equal: most likely the same program
    std::vector<float> members;     // predicted log times
    float mean = 0;
  };
  using Candidates = std::vector<Candidate>;

  std::vector<space::Configuration> first_plan(Knowledge& knowledge, std::size_t n);
  std::vector<space::Configuration> promising_draws(const Knowledge& knowledge);
  void note_tried(const Knowledge& knowledge);
  bool holds_untried(const space::Configuration& configuration) const;
  Candidates recall(const Knowledge& knowledge, const cost::TimeModel& model);
  Candidates breed_candidates(const Knowledge& knowledge, const cost::TimeModel& model);
  void breed(const Knowledge& knowledge, const std::vector<const space::Configuration*>& parents,
             std::size_t count, double random_share, Candidates& into);
  void predict(const cost::TimeModel& model, Candidates& candidates, std::size_t from);
  void breed_fresh(const Knowledge& knowledge,
                   const std::vector<const space::Configuration*>& parents, Candidates& into);
  bool add_candidate(const Knowledge& knowledge, space::Configuration configuration,
                     Candidates& into);
  std::vector<space::Configuration> choose(const Candidates& candidates, Unseen& unseen,
                                           std::size_t n);
  const std::vector<float>* features_of(const space::Configuration& configuration);
  const std::vector<float>& features_of(const Knowledge::Trial& trial);
  std::vector<float> row_of(const space::Configuration& configuration,
                            const std::vector<float>& features) const;
  Result<cost::TimeModel> train(const Knowledge& knowledge);
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(rng_); }

  const space::SearchSpace& space_;
  SearcherOptions options_;
  std::mt19937_64 rng_;
  // Of every configuration ever lowered; empty: it does not lower, or was screened out.
  std::unordered_map<space::Configuration, std::vector<float>, ConfigurationHash> features_;
  std::vector<space::Configuration> pool_;  // of these, what no plan took yet
  std::size_t places_ = 0;                  // given by plans with a model
  // Of the plan in hand:
  std::unordered_set<space::Configuration, ConfigurationHash> bred_;
  std::unordered_set<std::size_t> tried_features_;     // hashes, of trials
  std::vector<std::vector<std::vector<bool>>> tried_;  // [sketch][knob][option], of trials
  SearchStatistics statistics_;
};

}  // namespace fettle::tune
