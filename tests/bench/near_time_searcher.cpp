// Neighbours of what came nearest to the wanted time (near_time_searcher.h).
#include "tests/bench/near_time_searcher.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "host/tune/unseen.h"

namespace fettle::bench {
namespace {

constexpr std::size_t kParents = 8;
constexpr int kTriesPerParent = 8;

class NearTimeSearcher final : public tune::Searcher {
 public:
  NearTimeSearcher(const space::SearchSpace& space, double nanoseconds, std::uint64_t seed)
      : space_(space), unseen_(space), wanted_(nanoseconds), rng_(seed) {}

  std::vector<space::Configuration> propose(std::size_t n) override {
    std::vector<space::Configuration> proposed;
    while (proposed.size() < n) {
      auto next = neighbour();
      if (!next) next = unseen_.draw(rng_);
      if (!next) break;
      proposed.push_back(std::move(*next));
    }
    return proposed;
  }

  void observe(const tune::Observation& o) override {
    unseen_.insert(o.configuration);
    if (!o.nanoseconds || *o.nanoseconds <= 0) return;
    const Parent parent{std::fabs(std::log(*o.nanoseconds / wanted_)), o.configuration};
    const auto place =
        std::upper_bound(parents_.begin(), parents_.end(), parent,
                         [](const Parent& a, const Parent& b) { return a.distance < b.distance; });
    parents_.insert(place, parent);
    if (parents_.size() > kParents) parents_.pop_back();
  }

 private:
  struct Parent {
    double distance;
    space::Configuration configuration;
  };

  std::optional<space::Configuration> neighbour() {
    if (parents_.size() < kParents) return std::nullopt;
    for (int i = 0; i < kTriesPerParent * static_cast<int>(parents_.size()); ++i) {
      const Parent& parent = parents_[rng_() % parents_.size()];
      space::Configuration next = space_.mutate(parent.configuration, rng_);
      if (unseen_.insert(next)) return next;
    }
    return std::nullopt;
  }

  const space::SearchSpace& space_;
  tune::Unseen unseen_;
  double wanted_;
  std::mt19937_64 rng_;
  std::vector<Parent> parents_;  // nearest first
};

}  // namespace

std::unique_ptr<tune::Searcher> make_near_time_searcher(const space::SearchSpace& space,
                                                        double nanoseconds, std::uint64_t seed) {
  return std::make_unique<NearTimeSearcher>(space, nanoseconds, seed);
}

}  // namespace fettle::bench
