// Grid search: the whole space in its own order, without what breaks a constraint. For spaces that
// are to be measured completely; the seed plays no part.
#include "host/tune/searchers.h"
#include "host/tune/unseen.h"

namespace fettle::tune {
namespace {

class GridSearcher final : public Searcher {
 public:
  explicit GridSearcher(const space::SearchSpace& space) : space_(space), unseen_(space) {}

  std::vector<space::Configuration> propose(std::size_t n) override {
    std::vector<space::Configuration> proposals;
    while (proposals.size() < n && static_cast<double>(next_) < space_.size()) {
      space::Configuration configuration = space_.at(next_++);
      if (!space_.contains(configuration)) continue;  // breaks a constraint
      if (unseen_.insert(configuration)) proposals.push_back(std::move(configuration));
    }
    return proposals;
  }

  void observe(const Observation& observation) override {
    unseen_.insert(observation.configuration);
  }

 private:
  const space::SearchSpace& space_;
  Unseen unseen_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Searcher> make_grid(const space::SearchSpace& space, const SearcherOptions&) {
  return std::make_unique<GridSearcher>(space);
}

}  // namespace fettle::tune
