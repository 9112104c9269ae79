// EvolutionaryPlanner (evolutionary_planner.h).
#include "host/tune/evolutionary_planner.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "host/cost/knob_features.h"
#include "host/tune/crowding.h"
#include "host/tune/evolution.h"
#include "host/tune/first_plan.h"
#include "host/tune/stopwatch.h"

namespace fettle::tune {
namespace {

constexpr std::size_t kUnderWay = 4;   // beside the loop: trials begun before the first outcomes
constexpr std::size_t kPlanned = 64;   // places of plans whose trials may be under way
constexpr std::size_t kPool = 1024;    // lowered for earlier plans, and kept
constexpr std::size_t kRecalled = 64;  // of those, the fastest as the model sees them now
constexpr int kGenerations = 3;
constexpr double kRandomShare = 0.5;  // of the first generation
constexpr double kEpsilon = 0.05;     // of a plan: random, whatever the model says
constexpr double kCloseness = 0.1;    // log time that a candidate close to a planned one loses
constexpr double kTwin = 10;          // log time that an equal feature vector loses
constexpr std::size_t kFresh = 8;     // candidates with an option never tried
// Places of a plan that are not the model's. A plan is often replaced by the next one when its
// first few trials have begun, so these stand in front.
constexpr std::size_t kEvery = 4;       // of so many places
constexpr std::size_t kOpenPlace = 1;   // this one is a change's that nothing is known of; or, in
                                        // every other plan, a fresh sketch's or option's
constexpr std::size_t kNichePlace = 3;  // this one is a champion's
constexpr double kChampionShare = 0.3;  // of the parents
// Log time behind the fastest: not worth a place. A search that has stood for long may be wrong
// about what is worth one.
constexpr double kChampionBehind = 0.22, kFartherBehind = 0.5;
constexpr double kStandsFrom = 24, kStandsLong = 72;  // trials: what lies so far behind grows
constexpr double kExtraMutation = 0.35;

}  // namespace

EvolutionaryPlanner::EvolutionaryPlanner(const space::SearchSpace& space,
                                         const SearcherOptions& options)
    : space_(space),
      niches_(space),
      options_(options),
      rng_(options.seed),
      lowered_(space_, options_) {}

std::size_t trials_missing(const SearcherOptions& options, std::size_t trials) {
  // A prior is a better beginning than a few trials of other tasks.
  const bool taught = !options.prior && options.experience && options.experience->size() > trials;
  const std::size_t first = first_trials(options);
  return taught || trials >= first ? 0 : first - trials;
}

std::vector<EvolutionaryPlanner::Place> EvolutionaryPlanner::plan(Knowledge knowledge,
                                                                  std::size_t n) {
  const Stopwatch all(statistics_.planning_seconds);
  if (const std::size_t missing = trials_missing(options_, knowledge.trials.size())) {
    const std::size_t wanted = std::min(n, missing + (options_.background ? kUnderWay : 0));
    return first_places(knowledge, wanted);
  }
  if (!train(knowledge)) return first_places(knowledge, n);
  ++statistics_.plans;
  note_tried(knowledge);
  return choose(breed_candidates(knowledge, *model_), knowledge, n);
}

std::vector<EvolutionaryPlanner::Place> EvolutionaryPlanner::first_places(Knowledge& knowledge,
                                                                          std::size_t n) {
  std::vector<Place> places;
  for (space::Configuration& configuration :
       first_plan(space_, options_, lowered_, knowledge, n, rng_)) {
    const std::vector<float>* features = options_.features ? lowered_.of(configuration) : nullptr;
    places.push_back({std::move(configuration), features ? features_hash(*features) : 0});
  }
  return places;
}

Result<void> EvolutionaryPlanner::train(const Knowledge& knowledge) {
  std::vector<cost::Trial> trials;
  for (const auto& trial : knowledge.trials) {
    trials.push_back(
        {lowered_.row(trial.configuration, lowered_.of(trial)), trial.nanoseconds, false});
  }
  const Stopwatch training(statistics_.training_seconds);
  std::vector<cost::Sample> others;
  if (options_.experience) others = options_.experience->beside(options_.task, options_.estimate);
  const std::size_t columns = options_.feature_count + cost::knob_feature_count(space_);
  cost::TimeModelOptions how;
  how.estimate = options_.estimate;
  const auto seed = static_cast<std::uint32_t>(options_.seed);
  auto model = model_ ? cost::TimeModel::refit(*model_, columns, trials, others, how, seed)
                      : cost::TimeModel::train(columns, trials, others, how, seed);
  model_.reset();
  if (!model) return std::move(model).error();
  model_ = std::move(*model);
  return {};
}

EvolutionaryPlanner::Candidates EvolutionaryPlanner::breed_candidates(
    const Knowledge& knowledge, const cost::TimeModel& model) {
  bred_.clear();
  std::vector<const Knowledge::Trial*> fastest;
  for (const auto& trial : knowledge.trials) {
    if (trial.nanoseconds > 0) fastest.push_back(&trial);
  }
  // A censored time is a lower bound: behind every measured one that is as long.
  std::stable_sort(fastest.begin(), fastest.end(), [](const auto* a, const auto* b) {
    return std::pair(a->nanoseconds, a->censored) < std::pair(b->nanoseconds, b->censored);
  });
  if (fastest.size() > kParents) fastest.resize(kParents);
  Parents parents;
  for (const auto* trial : fastest) parents.fast.push_back(&trial->configuration);

  const std::size_t children = worth_thought(options_, kChildren);
  Candidates candidates = recall(knowledge, model);
  candidates.reserve(candidates.size() + children * kGenerations + kFresh +
                     open_.all().size());  // parents point into it
  for (int generation = 0; generation < kGenerations; ++generation) {
    // Parents: the fastest trials and, after them in turns, the best predictions.
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return candidates[a].mean < candidates[b].mean;
    });
    const bool first = generation == 0;
    if (!first) parents.fast.clear();
    for (std::size_t i = 0; i < std::max(order.size(), fastest.size()); ++i) {
      if (i < kParents && i < order.size())
        parents.fast.push_back(&candidates[order[i]].configuration);
      if (!first && i < kParents / 2 && i < fastest.size()) {
        parents.fast.push_back(&fastest[i]->configuration);
      }
    }
    parents.champions.clear();
    for (const std::size_t i : champions_of(candidates)) {
      parents.champions.push_back(&candidates[i].configuration);
    }
    const std::size_t from = candidates.size();
    breed(knowledge, parents, children, first ? kRandomShare : 0, candidates);
    if (first) {
      breed_fresh(knowledge, parents.fast, candidates);
      for (const auto& change : open_.all()) add_candidate(knowledge, change, candidates);
    }
    describe(candidates, from);
    predict(model, candidates, from);
  }
  for (const Candidate& candidate : candidates) {
    if (tried_.looks_tried(candidate.features_hash)) tried_.add_twin(candidate.configuration);
  }
  return candidates;
}

// What earlier plans lowered and did not take is worth another look: the model knows more.
EvolutionaryPlanner::Candidates EvolutionaryPlanner::recall(const Knowledge& knowledge,
                                                            const cost::TimeModel& model) {
  Candidates candidates;
  std::vector<space::Configuration> pool = lowered_.take_pool();
  candidates.reserve(pool.size());
  for (space::Configuration& configuration : pool) {
    add_candidate(knowledge, std::move(configuration), candidates);
  }
  describe(candidates, 0);
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return tried_.looks_tried(candidate.features_hash);
  });
  predict(model, candidates, 0);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.mean < b.mean; });
  if (candidates.size() > kPool) candidates.resize(kPool);
  for (const Candidate& candidate : candidates) lowered_.put_back(candidate.configuration);
  // The fastest, and the champions.
  std::vector<bool> kept(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) kept[i] = i < kRecalled;
  for (const std::size_t i : champions_of(candidates)) kept[i] = true;
  Candidates recalled;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (kept[i]) recalled.push_back(std::move(candidates[i]));
  }
  return recalled;
}

std::vector<std::size_t> EvolutionaryPlanner::champions_of(const Candidates& candidates) const {
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return candidates[a].mean < candidates[b].mean;
  });
  std::vector<const space::Configuration*> ranked;
  for (const std::size_t i : order) ranked.push_back(&candidates[i].configuration);
  std::vector<std::size_t> places = champions(niches_, ranked);
  for (std::size_t& place : places) place = order[place];
  return places;
}

std::optional<std::size_t> EvolutionaryPlanner::neglected(const Candidates& candidates,
                                                          const std::vector<bool>& taken,
                                                          double behind) const {
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
    if (candidates[i].mean > candidates[*fastest].mean + behind) continue;
    const std::pair here(trials_of_[niche], candidates[i].mean);
    if (!best || here < least) best = i, least = here;
  }
  return best;
}

void EvolutionaryPlanner::breed(const Knowledge& knowledge, const Parents& parents,
                                std::size_t count, double random_share, Candidates& into) {
  const auto parent = [&]() -> const space::Configuration& {
    const auto& [fast, best] = parents;
    if (!best.empty() && (fast.empty() || uniform(rng_) < kChampionShare)) {
      return *best[rng_() % best.size()];
    }
    const double draw = uniform(rng_);
    const auto rank = static_cast<std::size_t>(draw * draw * static_cast<double>(fast.size()));
    return *fast[std::min(rank, fast.size() - 1)];
  };
  const std::size_t end = into.size() + count;
  for (std::size_t tries = 0; tries < 8 * count && into.size() < end; ++tries) {
    space::Configuration child;
    if ((parents.fast.empty() && parents.champions.empty()) || uniform(rng_) < random_share) {
      child = space_.random(rng_);
    } else {
      child = parent();
      const bool crossed = uniform(rng_) < kCrossover;
      if (crossed) child = space_.crossover(child, parent(), rng_);
      if (!crossed || uniform(rng_) < 0.5) child = space_.mutate(child, rng_);
      while (uniform(rng_) < kExtraMutation) child = space_.mutate(child, rng_);
    }
    add_candidate(knowledge, std::move(child), into);
  }
}

// Parents with one knob at an option that no trial has had.
void EvolutionaryPlanner::breed_fresh(const Knowledge& knowledge,
                                      const std::vector<const space::Configuration*>& parents,
                                      Candidates& into) {
  const std::size_t end = into.size() + kFresh;
  for (std::size_t tries = 0; tries < 4 * kFresh && into.size() < end; ++tries) {
    space::Configuration child =
        parents.empty() || tries % 4 == 3 ? space_.random(rng_) : *parents[rng_() % parents.size()];
    const auto untried = tried_.untried(child.sketch);
    if (untried.empty()) continue;
    const auto [knob, option] = untried[rng_() % untried.size()];
    child.choice[knob] = option;
    if (space_.contains(child)) add_candidate(knowledge, std::move(child), into);
  }
}

// False: it was seen or bred already, or makes no program.
bool EvolutionaryPlanner::add_candidate(const Knowledge& knowledge,
                                        space::Configuration configuration, Candidates& into) {
  if (knowledge.unseen.contains(configuration) || !bred_.insert(configuration).second) return false;
  if (options_.features && !lowered_.lowers(configuration)) return false;
  Candidate candidate;
  candidate.configuration = std::move(configuration);
  into.push_back(std::move(candidate));
  return true;
}

// After all of them are lowered, so that they are corrected at once.
void EvolutionaryPlanner::describe(Candidates& candidates, std::size_t from) {
  static const std::vector<float> kNone;
  for (std::size_t i = from; i < candidates.size(); ++i) {
    const space::Configuration& configuration = candidates[i].configuration;
    const auto& features = options_.features ? *lowered_.of(configuration) : kNone;
    candidates[i].row = lowered_.row(configuration, features);
    candidates[i].features_hash = features_hash(features);
  }
}

void EvolutionaryPlanner::note_tried(const Knowledge& knowledge) {
  tried_ = Tried(space_);
  for (const auto& trial : knowledge.trials) {
    tried_.add(trial.configuration, features_hash(lowered_.of(trial)));
  }
  for (const auto& [configuration, program] : planned_) {
    if (knowledge.unseen.contains(configuration)) tried_.add_program(program);
  }
  trials_of_.assign(niches_.count(), 0);
  for (const auto& trial : knowledge.trials) {
    for (const std::size_t niche : niches_.of(trial.configuration)) ++trials_of_[niche];
  }
  const auto tells_nothing = [this](const space::Configuration& configuration) {
    if (!options_.features) return false;
    const std::vector<float>* features = lowered_.of(configuration);
    return !features || tried_.looks_tried(features_hash(*features));
  };
  open_ = OpenChanges(space_, knowledge.trials, tells_nothing, rng_);
}

SearchStatistics EvolutionaryPlanner::statistics() const {
  SearchStatistics all = statistics_;
  all += lowered_.statistics();
  return all;
}

void EvolutionaryPlanner::predict(const cost::TimeModel& model, Candidates& candidates,
                                  std::size_t from) {
  if (from == candidates.size()) return;
  cost::Table table{candidates[from].row.size(), {}};
  for (std::size_t i = from; i < candidates.size(); ++i) table.add(candidates[i].row);
  for (const std::vector<float>& member : model.predict(table)) {
    for (std::size_t i = from; i < candidates.size(); ++i) {
      candidates[i].members.push_back(member[i - from]);
    }
  }
  for (std::size_t i = from; i < candidates.size(); ++i) {
    const auto& members = candidates[i].members;
    candidates[i].mean =
        std::accumulate(members.begin(), members.end(), 0.0f) / static_cast<float>(members.size());
  }
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
  const double long_standing =
      std::clamp((crowding.standing() - kStandsFrom) / (kStandsLong - kStandsFrom), 0.0, 1.0);
  const double behind = kChampionBehind + kFartherBehind * long_standing;
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
      best = neglected(candidates, taken, behind);
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
      tried_.add(chosen, candidates[*best].features_hash);
      for (const std::size_t niche : niches_.of(chosen)) ++trials_of_[niche];
      planned_.emplace_back(chosen, candidates[*best].features_hash);
      if (planned_.size() > kPlanned) planned_.pop_front();
      plan.push_back({chosen, candidates[*best].features_hash});
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        lost[i] += kCloseness * std::exp(-distance(space_, chosen, candidates[i].configuration));
      }
    } else if (auto drawn = knowledge.unseen.draw(rng_)) {
      plan.push_back({std::move(*drawn)});
    } else {
      break;
    }
  }
  return plan;
}

}  // namespace fettle::tune
