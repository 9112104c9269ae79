// The table of searchers: one row each.
#include "host/tune/searchers.h"

namespace fettle::tune {
namespace {

struct Row {
  const char* name;
  std::unique_ptr<Searcher> (*make)(const space::SearchSpace&, const SearcherOptions&);
};

constexpr Row kSearchers[] = {
    {"evolutionary", make_evolutionary},
    {"xgb", make_xgb},
    {"ga", make_ga},
    {"random", make_random},
    {"grid", make_grid},
};

}  // namespace

SearchStatistics& SearchStatistics::operator+=(const SearchStatistics& other) {
  plans += other.plans;
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
  for (const Row& row : kSearchers) {
    if (name == row.name) return row.make(space, options);
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
