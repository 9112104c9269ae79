// The table of searchers: one row each.
#include <random>

#include "host/tune/searchers.h"

namespace fettle::tune {
namespace {

struct Row {
  const char* name;
  std::unique_ptr<Searcher> (*make)(const space::SearchSpace&, const SearcherOptions&);
  bool sees_loops = false;  // and nothing else: it wants SearcherOptions::itervar_features
};

constexpr Row kSearchers[] = {
    {"evolutionary", make_evolutionary},
    {"xgb-knob", make_xgb_knob},
    {"xgb-itervar", make_xgb_itervar, true},
    {"ga", make_ga},
    {"random", make_random},
    {"grid", make_grid},
};

// Whether a task's programs have loops to be seen: it is Unsupported for all of them or for none.
bool has_itervars(const space::SearchSpace& space, const SearcherOptions& options) {
  if (!options.itervar_features) return false;
  std::mt19937_64 rng(0);
  const auto seen = options.itervar_features(space.random(rng));
  return seen || seen.error().code != ErrorCode::Unsupported;
}

}  // namespace

std::string current_searcher_name(const std::string& name) {
  return name == "xgb" ? "xgb-knob" : name;
}

SearchStatistics& SearchStatistics::operator+=(const SearchStatistics& other) {
  plans += other.plans;
  thought += other.thought;
  lowered += other.lowered;
  unlowered += other.unlowered;
  screened += other.screened;
  feature_seconds += other.feature_seconds;
  training_seconds += other.training_seconds;
  planning_seconds += other.planning_seconds;
  return *this;
}

Result<std::unique_ptr<Searcher>> make_searcher(const std::string& name,
                                                const space::SearchSpace& space,
                                                const SearcherOptions& options) {
  std::string known;
  const std::string current = current_searcher_name(name);
  for (const Row& row : kSearchers) {
    if (current == row.name && row.sees_loops && !has_itervars(space, options)) {
      return Error{ErrorCode::Unsupported,
                   current +
                       " looks at the loops of lowered programs, which recordings, kernels "
                       "that a user wrote and VTA's programs lack; xgb-knob looks at the "
                       "knobs alone"};
    }
    if (current == row.name) return row.make(space, options);
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return Error{ErrorCode::NotFound, "there is no searcher \"" + name + "\"; there are: " + known};
}

std::vector<std::string> searcher_names() {
  std::vector<std::string> names;
  for (const Row& row : kSearchers) names.emplace_back(row.name);
  return names;
}

}  // namespace fettle::tune
