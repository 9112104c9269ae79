// What a plan is chosen from: recalled, bred, lowered, and as the model sees it
// (evolutionary_planner.h).
#include <algorithm>
#include <numeric>
#include <utility>

#include "host/tune/evolution.h"
#include "host/tune/evolutionary_planner.h"

namespace fettle::tune {
namespace {

constexpr std::size_t kPool = 1024;    // lowered for earlier plans, and kept
constexpr std::size_t kRecalled = 64;  // of those, the fastest as the model sees them now
constexpr int kGenerations = 3;
constexpr double kRandomShare = 0.5;    // of the first generation
constexpr std::size_t kFresh = 8;       // candidates with an option never tried
constexpr double kChampionShare = 0.3;  // of the parents
constexpr double kExtraMutation = 0.35;

}  // namespace

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

  const std::size_t children = paced(thought_, worth_thought(options_, kChildren));
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
  // The fastest, the champions, and the changes that nothing is known of, which the model may take
  // for slow.
  std::vector<bool> kept(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    kept[i] = i < kRecalled || open_.contains(candidates[i].configuration);
  }
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
  const std::size_t count = paced(thought_, kFresh), end = into.size() + count;
  for (std::size_t tries = 0; tries < 4 * count && into.size() < end; ++tries) {
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

}  // namespace fettle::tune
