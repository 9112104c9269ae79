// EvolutionaryPlanner (evolutionary_planner.h).
#include "host/tune/evolutionary_planner.h"

#include <algorithm>
#include <utility>

#include "host/cost/knob_features.h"
#include "host/tune/evolution.h"
#include "host/tune/first_plan.h"
#include "host/tune/stopwatch.h"

namespace fettle::tune {
namespace {

constexpr std::size_t kUnderWay = 4;  // beside the loop: trials begun before the first outcomes
constexpr std::size_t kPlanned = 64;  // places of plans whose trials may be under way

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
                                                                  std::size_t n, double thought) {
  const Stopwatch all(statistics_.planning_seconds);
  if (const std::size_t missing = trials_missing(options_, knowledge.trials.size())) {
    const std::size_t wanted = std::min(n, missing + (options_.background ? kUnderWay : 0));
    return first_places(knowledge, wanted);
  }
  if (!train(knowledge)) return first_places(knowledge, n);
  ++statistics_.plans;
  statistics_.thought += thought_ = thought;
  note_tried(knowledge);
  find_open_changes(knowledge);
  return choose(breed_candidates(knowledge, *model_), knowledge, n);
}

std::vector<EvolutionaryPlanner::Place> EvolutionaryPlanner::first_places(Knowledge& knowledge,
                                                                          std::size_t n) {
  note_tried(knowledge);
  std::vector<Place> places;
  for (space::Configuration& configuration :
       first_plan(space_, options_, lowered_, tried_, knowledge, n, rng_)) {
    const std::vector<float>* features = options_.features ? lowered_.of(configuration) : nullptr;
    places.push_back({std::move(configuration), features ? features_hash(*features) : 0});
    note_planned(places.back());
  }
  return places;
}

void EvolutionaryPlanner::note(const space::Configuration& configuration, std::size_t program) {
  tried_.add(configuration, program);
  for (const std::size_t niche : niches_.of(configuration)) ++trials_of_[niche];
}

void EvolutionaryPlanner::note_planned(const Place& place) {
  planned_.emplace_back(place.configuration, place.features_hash);
  if (planned_.size() > kPlanned) planned_.pop_front();
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

void EvolutionaryPlanner::note_tried(const Knowledge& knowledge) {
  tried_ = Tried(space_);
  trials_of_.assign(niches_.count(), 0);
  std::unordered_set<space::Configuration, ConfigurationHash> ended;
  for (const auto& trial : knowledge.trials) {
    note(trial.configuration, features_hash(lowered_.of(trial)));
    ended.insert(trial.configuration);
  }
  for (const auto& [configuration, program] : planned_) {
    const bool begun = knowledge.unseen.contains(configuration);
    if (begun && !ended.contains(configuration)) note(configuration, program);
  }
}

void EvolutionaryPlanner::find_open_changes(const Knowledge& knowledge) {
  const auto tells_nothing = [this](const space::Configuration& configuration) {
    if (!options_.features) return false;
    const std::vector<float>* features = lowered_.of(configuration);
    return !features || tried_.looks_tried(features_hash(*features));
  };
  open_ = OpenChanges(space_, knowledge.trials, tells_nothing, rng_, thought_);
}

SearchStatistics EvolutionaryPlanner::statistics() const {
  SearchStatistics all = statistics_;
  all += lowered_.statistics();
  return all;
}

}  // namespace fettle::tune
