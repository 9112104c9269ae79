// Random search: uniform draws without repetition. The baseline of every other searcher.
#include "host/tune/searchers.h"
#include "host/tune/unseen.h"

namespace fettle::tune {
namespace {

class RandomSearcher final : public Searcher {
 public:
  RandomSearcher(const space::SearchSpace& space, const SearcherOptions& options)
      : unseen_(space), rng_(options.seed) {}

  std::vector<space::Configuration> propose(std::size_t n) override {
    std::vector<space::Configuration> proposals;
    while (proposals.size() < n) {
      auto configuration = unseen_.draw(rng_);
      if (!configuration) break;
      proposals.push_back(std::move(*configuration));
    }
    return proposals;
  }

  void observe(const Observation& observation) override {
    unseen_.insert(observation.configuration);
  }

 private:
  Unseen unseen_;
  std::mt19937_64 rng_;
};

}  // namespace

std::unique_ptr<Searcher> make_random(const space::SearchSpace& space,
                                      const SearcherOptions& options) {
  return std::make_unique<RandomSearcher>(space, options);
}

}  // namespace fettle::tune
