// EvolutionaryPlanner (evolutionary_planner.h).
#include "host/tune/evolutionary_planner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "host/cost/knob_features.h"

namespace fettle::tune {
namespace {

// Until a model is trained: so many trials, spread over the fastest by the estimate of so many
// draws, as many as this share of them, and of some generations bred from these. An
// estimate that a prior corrected is worth more.
struct First {
  std::size_t trials, draws, generations;
  double share;
};
constexpr First kFirst{8, 128, 0, 0.25}, kFirstWithPrior{4, 192, 2, 0.08};
constexpr std::size_t kUnderWay = 4;      // beside the loop: trials begun before the first outcomes
constexpr std::size_t kSpreadDraws = 24;  // of which the one farthest from all others is taken
constexpr std::size_t kParents = 16;      // fastest trials that breed
constexpr std::size_t kChildren = 32;     // of each generation
constexpr std::size_t kPool = 1024;       // lowered for earlier plans, and kept
constexpr std::size_t kRecalled = 64;     // of those, the fastest as the model sees them now
constexpr int kGenerations = 3;
constexpr double kRandomShare = 0.5;    // of the first generation
constexpr double kEpsilon = 0.05;       // of a plan: random, whatever the model says
constexpr double kCloseness = 0.1;      // log time that a candidate close to a planned one loses
constexpr double kTwin = 10;            // log time that an equal feature vector loses
constexpr std::size_t kFresh = 16;      // candidates with an option never tried
constexpr std::size_t kFreshPlace = 8;  // every so manyth place of all plans is theirs
constexpr double kCrossover = 0.4, kExtraMutation = 0.35;

class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Knobs that differ, each by at least a half and by how far apart its options are.
double distance(const space::SearchSpace& space, const space::Configuration& a,
                const space::Configuration& b) {
  if (a.sketch != b.sketch) return 1e9;
  const auto& knobs = space.sketches()[a.sketch].knobs;
  double sum = 0;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (a.choice[k] == b.choice[k]) continue;
    const double apart = std::fabs(double(a.choice[k]) - double(b.choice[k]));
    sum += 0.5 + 0.5 * apart / static_cast<double>(knobs[k].options.size() - 1);
  }
  return sum;
}

// 0: no features.
std::size_t hash_of(std::span<const float> features) {
  if (features.empty()) return 0;
  return std::hash<std::string_view>()(
      {reinterpret_cast<const char*>(features.data()), features.size_bytes()});
}

}  // namespace

EvolutionaryPlanner::EvolutionaryPlanner(const space::SearchSpace& space,
                                         const SearcherOptions& options)
    : space_(space), options_(options), rng_(options.seed) {}

std::vector<space::Configuration> EvolutionaryPlanner::plan(Knowledge knowledge, std::size_t n) {
  const Stopwatch all(statistics_.planning_seconds);
  // A prior is a better beginning than a few trials of other tasks.
  const bool taught = !options_.prior && options_.experience &&
                      options_.experience->size() > knowledge.trials.size();
  const std::size_t first = (options_.prior ? kFirstWithPrior : kFirst).trials;
  if (knowledge.trials.size() < first && !taught) {
    const std::size_t missing = first - knowledge.trials.size();
    return first_plan(knowledge, std::min(n, missing + (options_.background ? kUnderWay : 0)));
  }
  auto model = train(knowledge);
  if (!model) return first_plan(knowledge, n);
  ++statistics_.plans;
  note_tried(knowledge);
  return choose(breed_candidates(knowledge, *model), knowledge.unseen, n);
}

std::vector<space::Configuration> EvolutionaryPlanner::first_plan(Knowledge& knowledge,
                                                                  std::size_t n) {
  std::vector<space::Configuration> plan;
  const auto nearest = [&](const space::Configuration& candidate) {
    double least = 1e9;
    for (const auto& trial : knowledge.trials) {
      least = std::min(least, distance(space_, candidate, trial.configuration));
    }
    for (const auto& planned : plan) least = std::min(least, distance(space_, candidate, planned));
    return least;
  };
  std::vector<space::Configuration> promising;
  if (options_.features && options_.estimate) promising = promising_draws(knowledge);
  const std::size_t draws = promising.empty() ? kSpreadDraws : promising.size();
  while (plan.size() < n) {
    std::optional<space::Configuration> farthest;
    double reach = -1;
    for (std::size_t i = 0; i < draws; ++i) {
      space::Configuration candidate = promising.empty() ? space_.random(rng_) : promising[i];
      if (knowledge.unseen.contains(candidate)) continue;
      const double here = nearest(candidate);
      if (here <= reach || (options_.features && !features_of(candidate))) continue;
      reach = here;
      farthest = std::move(candidate);
    }
    if (farthest) {
      knowledge.unseen.insert(*farthest);
    } else {
      farthest = knowledge.unseen.draw(rng_);
    }
    if (!farthest) break;
    plan.push_back(std::move(*farthest));
  }
  return plan;
}

// What the estimate finds fastest of some draws and of what is bred from them, in that
// order; of programs that look the same, one.
std::vector<space::Configuration> EvolutionaryPlanner::promising_draws(const Knowledge& knowledge) {
  const First& first = options_.prior ? kFirstWithPrior : kFirst;
  std::vector<std::pair<float, space::Configuration>> draws;
  std::unordered_set<std::size_t> programs;
  bred_.clear();
  const auto consider = [&](space::Configuration candidate) {
    if (knowledge.unseen.contains(candidate) || !bred_.insert(candidate).second) return;
    const std::vector<float>* features = features_of(candidate);
    if (!features || !programs.insert(hash_of(*features)).second) return;
    draws.emplace_back(features->at(*options_.estimate), std::move(candidate));
  };
  const auto faster = [](const auto& a, const auto& b) { return a.first < b.first; };
  for (std::size_t i = 0; i < first.draws; ++i) consider(space_.random(rng_));
  const auto kept = static_cast<std::size_t>(first.share * static_cast<double>(draws.size()));
  std::stable_sort(draws.begin(), draws.end(), faster);
  for (std::size_t generation = 0; generation < first.generations; ++generation) {
    const std::vector<std::pair<float, space::Configuration>> parents(
        draws.begin(),
        draws.begin() + static_cast<std::ptrdiff_t>(std::min(kParents, draws.size())));
    if (parents.empty()) break;
    const auto parent = [&]() -> const auto& { return parents[rng_() % parents.size()].second; };
    for (std::size_t i = 0; i < kChildren; ++i) {
      const bool crossed = uniform() < kCrossover;
      space::Configuration child = crossed ? space_.crossover(parent(), parent(), rng_) : parent();
      if (!crossed || uniform() < 0.5) child = space_.mutate(child, rng_);
      consider(std::move(child));
    }
    std::stable_sort(draws.begin(), draws.end(), faster);
  }
  draws.resize(std::min(draws.size(), kept));
  std::vector<space::Configuration> promising;
  for (auto& [estimate, configuration] : draws) promising.push_back(std::move(configuration));
  return promising;
}

Result<cost::TimeModel> EvolutionaryPlanner::train(const Knowledge& knowledge) {
  std::vector<cost::Trial> trials;
  for (const auto& trial : knowledge.trials) {
    trials.push_back({row_of(trial.configuration, features_of(trial)), trial.nanoseconds, false});
  }
  const Stopwatch training(statistics_.training_seconds);
  std::vector<cost::Sample> others;
  if (options_.experience) others = options_.experience->beside(options_.task, options_.estimate);
  const std::size_t columns = options_.feature_count + cost::knob_feature_count(space_);
  cost::TimeModelOptions how;
  how.estimate = options_.estimate;
  return cost::TimeModel::train(columns, trials, others, how,
                                static_cast<std::uint32_t>(options_.seed));
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
  std::vector<const space::Configuration*> parents;
  for (const auto* trial : fastest) parents.push_back(&trial->configuration);

  Candidates candidates = recall(knowledge, model);
  candidates.reserve(kRecalled + kChildren * kGenerations + kFresh);  // parents point into it
  for (int generation = 0; generation < kGenerations; ++generation) {
    // Parents: the fastest trials and, after them in turns, the best predictions.
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return candidates[a].mean < candidates[b].mean;
    });
    const bool first = generation == 0;
    if (!first) parents.clear();
    for (std::size_t i = 0; i < std::max(order.size(), fastest.size()); ++i) {
      if (i < kParents && i < order.size()) parents.push_back(&candidates[order[i]].configuration);
      if (!first && i < kParents / 2 && i < fastest.size()) {
        parents.push_back(&fastest[i]->configuration);
      }
    }
    const std::size_t from = candidates.size();
    breed(knowledge, parents, kChildren, first ? kRandomShare : 0, candidates);
    if (first) breed_fresh(knowledge, parents, candidates);
    predict(model, candidates, from);
  }
  return candidates;
}

// What earlier plans lowered and did not take is worth another look: the model knows more.
EvolutionaryPlanner::Candidates EvolutionaryPlanner::recall(const Knowledge& knowledge,
                                                            const cost::TimeModel& model) {
  Candidates candidates;
  candidates.reserve(pool_.size());
  for (space::Configuration& configuration : std::exchange(pool_, {})) {
    add_candidate(knowledge, std::move(configuration), candidates);
  }
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return tried_features_.contains(candidate.features_hash);
  });
  predict(model, candidates, 0);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.mean < b.mean; });
  if (candidates.size() > kPool) candidates.resize(kPool);
  for (const Candidate& candidate : candidates) pool_.push_back(candidate.configuration);
  if (candidates.size() > kRecalled) candidates.resize(kRecalled);
  return candidates;
}

// Parents that stand first breed more often.
void EvolutionaryPlanner::breed(const Knowledge& knowledge,
                                const std::vector<const space::Configuration*>& parents,
                                std::size_t count, double random_share, Candidates& into) {
  const auto parent = [&]() -> const space::Configuration& {
    const double draw = uniform();
    const auto rank = static_cast<std::size_t>(draw * draw * static_cast<double>(parents.size()));
    return *parents[std::min(rank, parents.size() - 1)];
  };
  const std::size_t end = into.size() + count;
  for (std::size_t tries = 0; tries < 8 * count && into.size() < end; ++tries) {
    space::Configuration child;
    if (parents.empty() || uniform() < random_share) {
      child = space_.random(rng_);
    } else {
      child = parent();
      const bool crossed = uniform() < kCrossover;
      if (crossed) child = space_.crossover(child, parent(), rng_);
      if (!crossed || uniform() < 0.5) child = space_.mutate(child, rng_);
      while (uniform() < kExtraMutation) child = space_.mutate(child, rng_);
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
    const auto& knobs = tried_[child.sketch];
    std::vector<std::pair<std::size_t, std::uint32_t>> untried;
    for (std::size_t k = 0; k < knobs.size(); ++k) {
      for (std::uint32_t option = 0; option < knobs[k].size(); ++option) {
        if (!knobs[k][option]) untried.emplace_back(k, option);
      }
    }
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
  static const std::vector<float> kNone;
  const std::vector<float>* features = options_.features ? features_of(configuration) : &kNone;
  if (!features) return false;
  Candidate candidate;
  candidate.row = row_of(configuration, *features);
  candidate.features_hash = hash_of(*features);
  candidate.configuration = std::move(configuration);
  into.push_back(std::move(candidate));
  return true;
}

void EvolutionaryPlanner::note_tried(const Knowledge& knowledge) {
  tried_features_.clear();
  tried_.clear();
  for (const space::Sketch& sketch : space_.sketches()) {
    tried_.emplace_back();
    for (const space::Knob& knob : sketch.knobs) tried_.back().emplace_back(knob.options.size());
  }
  for (const auto& trial : knowledge.trials) {
    const std::vector<float>& features = features_of(trial);
    if (!features.empty()) tried_features_.insert(hash_of(features));
    const auto& choice = trial.configuration.choice;
    for (std::size_t k = 0; k < choice.size(); ++k) {
      tried_[trial.configuration.sketch][k][choice[k]] = true;
    }
  }
}

bool EvolutionaryPlanner::holds_untried(const space::Configuration& configuration) const {
  const auto& knobs = tried_[configuration.sketch];
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (!knobs[k][configuration.choice[k]]) return true;
  }
  return false;
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

// Every other place goes to the best by the mean, those between to the best by one
// member; and what is close to a place already taken must be better for it. So a
// batch is spread where the members disagree, and over what looks equally good. Equal
// features are most likely one program, which would be measured once only. The model
// knows nothing of an option that was never tried, and may be wrong about it for
// ever: some places are kept for those.
std::vector<space::Configuration> EvolutionaryPlanner::choose(const Candidates& candidates,
                                                              Unseen& unseen, std::size_t n) {
  std::vector<space::Configuration> plan;
  std::vector<bool> taken(candidates.size(), false);
  std::vector<double> close(candidates.size(), 0);  // to the places taken
  const auto best_for = [&](bool fresh) {
    std::optional<std::size_t> best;
    double least = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& candidate = candidates[i];
      if (taken[i] || (fresh && !holds_untried(candidate.configuration))) continue;
      const auto& members = candidate.members;
      double value = places_ % 2 == 0 ? candidate.mean : members[places_ / 2 % members.size()];
      value += kCloseness * close[i];
      if (candidate.features_hash != 0 && tried_features_.contains(candidate.features_hash)) {
        value += kTwin;
      }
      if (!best || value < least) best = i, least = value;
    }
    return best;
  };
  for (; plan.size() < n; ++places_) {
    std::optional<std::size_t> best;
    if (places_ % kFreshPlace == kFreshPlace - 1) best = best_for(true);
    if (!best && uniform() >= kEpsilon) best = best_for(false);
    if (best) {
      const space::Configuration& chosen = candidates[*best].configuration;
      taken[*best] = true;
      unseen.insert(chosen);
      tried_features_.insert(candidates[*best].features_hash);
      for (std::size_t k = 0; k < chosen.choice.size(); ++k) {
        tried_[chosen.sketch][k][chosen.choice[k]] = true;
      }
      plan.push_back(chosen);
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        close[i] += std::exp(-distance(space_, plan.back(), candidates[i].configuration));
      }
    } else if (auto drawn = unseen.draw(rng_)) {
      plan.push_back(std::move(*drawn));
    } else {
      break;
    }
  }
  return plan;
}

const std::vector<float>* EvolutionaryPlanner::features_of(
    const space::Configuration& configuration) {
  auto [place, fresh] = features_.try_emplace(configuration);
  if (fresh) {
    const Stopwatch lowering(statistics_.feature_seconds);
    ++statistics_.lowered;
    auto features = options_.features(configuration);
    if (!features || features->size() != options_.feature_count) {
      ++statistics_.unlowered;
    } else if (options_.screen && options_.screen(*features)) {
      ++statistics_.screened;
    } else {
      place->second = std::move(*features);
      pool_.push_back(configuration);
      if (options_.prior) options_.prior->correct(place->second);
    }
  }
  return place->second.empty() ? nullptr : &place->second;
}

// Resumed trials come without: they are lowered once more.
const std::vector<float>& EvolutionaryPlanner::features_of(const Knowledge::Trial& trial) {
  if (trial.features.size() == options_.feature_count || !options_.features) return trial.features;
  const std::vector<float>* lowered = features_of(trial.configuration);
  return lowered ? *lowered : trial.features;
}

std::vector<float> EvolutionaryPlanner::row_of(const space::Configuration& configuration,
                                               const std::vector<float>& features) const {
  std::vector<float> row = features;
  row.resize(options_.feature_count, std::nanf(""));
  const std::vector<float> knobs = cost::knob_features(space_, configuration);
  row.insert(row.end(), knobs.begin(), knobs.end());
  return row;
}

}  // namespace fettle::tune
