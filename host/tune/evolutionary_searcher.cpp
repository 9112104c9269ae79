// Evolutionary search: children of the best configurations so far, by crossover
// and mutation, beside a share of random ones that keeps the search from settling.
#include <algorithm>

#include "host/tune/searchers.h"
#include "host/tune/unseen.h"

namespace fettle::tune {
namespace {

constexpr std::size_t kFirstRandom = 12;  // observations before anyone breeds
constexpr std::size_t kPopulation = 24;   // the best of all observations
constexpr double kRandomShare = 0.1;
constexpr double kCrossoverShare = 0.4;
constexpr double kExtraMutation = 0.35;  // chance of each further mutation of a child
constexpr int kBreedingTries = 16;       // children seen before, until a random draw steps in

class EvolutionarySearcher final : public Searcher {
 public:
  EvolutionarySearcher(const space::SearchSpace& space, const SearcherOptions& options)
      : space_(space), unseen_(space), rng_(options.seed) {}

  std::vector<space::Configuration> propose(std::size_t n) override {
    std::vector<space::Configuration> proposals;
    while (proposals.size() < n) {
      auto configuration = draw();
      if (!configuration) break;
      proposals.push_back(std::move(*configuration));
    }
    return proposals;
  }

  // A censored time is a lower bound: it ranks behind every full measurement that
  // is not slower, and breeds only while better ones are few. Failures never breed.
  void observe(const Observation& observation) override {
    unseen_.insert(observation.configuration);
    ++observed_;
    if (!observation.nanoseconds) return;
    const Member member{observation.configuration, *observation.nanoseconds, observation.censored};
    const auto place = std::upper_bound(population_.begin(), population_.end(), member);
    population_.insert(place, member);
    if (population_.size() > kPopulation) population_.pop_back();
  }

 private:
  struct Member {
    space::Configuration configuration;
    double nanoseconds;
    bool censored;
    bool operator<(const Member& other) const {
      return std::pair(nanoseconds, censored) < std::pair(other.nanoseconds, other.censored);
    }
  };

  double uniform() { return std::uniform_real_distribution<double>(0, 1)(rng_); }

  std::optional<space::Configuration> draw() {
    if (observed_ < kFirstRandom || population_.empty() || uniform() < kRandomShare) {
      return unseen_.draw(rng_);
    }
    for (int i = 0; i < kBreedingTries; ++i) {
      space::Configuration child = breed();
      if (unseen_.insert(child)) return child;
    }
    return unseen_.draw(rng_);
  }

  // Better members are parents more often: the rank is the square of a uniform draw.
  const space::Configuration& parent() {
    const double draw = uniform();
    const auto rank =
        static_cast<std::size_t>(draw * draw * static_cast<double>(population_.size()));
    return population_[std::min(rank, population_.size() - 1)].configuration;
  }

  space::Configuration breed() {
    space::Configuration child = parent();
    const bool crossed = uniform() < kCrossoverShare;
    if (crossed) child = space_.crossover(child, parent(), rng_);
    if (!crossed || uniform() < 0.5) child = space_.mutate(child, rng_);
    while (uniform() < kExtraMutation) child = space_.mutate(child, rng_);
    return child;
  }

  const space::SearchSpace& space_;
  Unseen unseen_;
  std::mt19937_64 rng_;
  std::size_t observed_ = 0;
  std::vector<Member> population_;  // best first
};

}  // namespace

std::unique_ptr<Searcher> make_evolutionary(const space::SearchSpace& space,
                                            const SearcherOptions& options) {
  return std::make_unique<EvolutionarySearcher>(space, options);
}

}  // namespace fettle::tune
