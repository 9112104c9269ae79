// Neighbours of what came nearest to the wanted time (near_time_searcher.h).
#include "tests/bench/near_time_searcher.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <unordered_set>

#include "host/tune/lowered_features.h"
#include "host/tune/unseen.h"

namespace fettle::bench {
namespace {

constexpr std::size_t kParents = 8;
constexpr int kTriesPerParent = 8;
constexpr std::size_t kMostTwins = 1000;  // passed over at once

class NearTimeSearcher final : public tune::Searcher {
 public:
  NearTimeSearcher(const space::SearchSpace& space, tune::FeatureFunction features,
                   double nanoseconds, std::uint64_t seed)
      : space_(space),
        features_(std::move(features)),
        unseen_(space),
        wanted_(nanoseconds),
        rng_(seed) {}

  std::vector<space::Configuration> propose(std::size_t n) override {
    std::vector<space::Configuration> proposed;
    for (std::size_t tries = 0; proposed.size() < n && tries < n + kMostTwins; ++tries) {
      auto next = neighbour();
      if (!next) next = unseen_.draw(rng_);
      if (!next) break;
      if (!new_program(*next)) continue;
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

  // What makes no program is left to the builder to tell.
  bool new_program(const space::Configuration& configuration) {
    const auto features = features_(configuration);
    return !features || programs_.insert(tune::features_hash(*features)).second;
  }

  const space::SearchSpace& space_;
  tune::FeatureFunction features_;
  tune::Unseen unseen_;
  std::unordered_set<std::size_t> programs_;  // hashes of their features
  double wanted_;
  std::mt19937_64 rng_;
  std::vector<Parent> parents_;  // nearest first
};

}  // namespace

std::unique_ptr<tune::Searcher> make_near_time_searcher(const space::SearchSpace& space,
                                                        tune::FeatureFunction features,
                                                        double nanoseconds, std::uint64_t seed) {
  return std::make_unique<NearTimeSearcher>(space, std::move(features), nanoseconds, seed);
}

}  // namespace fettle::bench
