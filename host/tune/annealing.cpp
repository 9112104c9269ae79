// Simulated annealing (annealing.h).
#include "host/tune/annealing.h"

#include <algorithm>
#include <cmath>

namespace fettle::tune {
namespace {

// One knob takes another of its options; any of them is as likely.
space::Configuration step_from(const space::SearchSpace& space, const space::Configuration& from,
                               std::mt19937_64& rng) {
  space::Configuration to = from;
  const auto& knobs = space.sketches()[from.sketch].knobs;
  std::vector<std::size_t> open;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (knobs[k].options.size() > 1) open.push_back(k);
  }
  if (open.empty() || (space.sketches().size() > 1 && rng() % 8 == 0)) return space.random(rng);
  const std::size_t k = open[rng() % open.size()];
  while (to.choice[k] == from.choice[k]) {
    to.choice[k] = static_cast<std::uint32_t>(rng() % knobs[k].options.size());
  }
  return space.contains(to) ? to : from;
}

// The best n seen, without repetition.
class Best {
 public:
  explicit Best(std::size_t n) : n_(n) {}
  bool offer(const space::Configuration& configuration, float score) {
    if (heap_.size() == n_ && score <= heap_.front().first) return false;
    if (!members_.insert(configuration).second) return false;
    heap_.emplace_back(score, configuration);
    std::push_heap(heap_.begin(), heap_.end(), slower);
    if (heap_.size() > n_) {
      std::pop_heap(heap_.begin(), heap_.end(), slower);
      members_.erase(heap_.back().second);
      heap_.pop_back();
    }
    return true;
  }
  std::vector<space::Configuration> sorted() {
    std::stable_sort(heap_.begin(), heap_.end(), slower);
    std::vector<space::Configuration> result;
    for (auto& [score, configuration] : heap_) result.push_back(std::move(configuration));
    return result;
  }

 private:
  using Entry = std::pair<float, space::Configuration>;
  static bool slower(const Entry& a, const Entry& b) { return a.first > b.first; }
  std::size_t n_;
  std::vector<Entry> heap_;
  std::unordered_set<space::Configuration, ConfigurationHash> members_;
};

}  // namespace

std::vector<space::Configuration> Annealing::maximums(std::size_t n, const ScoreFunction& score,
                                                      const Unseen& unseen, std::mt19937_64& rng) {
  while (points_.size() < options_.chains) points_.push_back(space_.random(rng));
  std::vector<float> scores = score(points_);
  Best best(n);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (!unseen.contains(points_[i])) best.offer(points_[i], scores[i]);
  }
  int unchanged = 0;
  for (int step = 0; step < options_.steps && unchanged < options_.patience; ++step) {
    const double temperature = 1.0 - static_cast<double>(step) / options_.steps;
    std::vector<space::Configuration> moved;
    for (const auto& point : points_) moved.push_back(step_from(space_, point, rng));
    const std::vector<float> moved_scores = score(moved);
    ++unchanged;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const double gain = moved_scores[i] - scores[i];
      const double chance = std::exp(std::min(gain / (temperature + 1e-5), 1.0));
      if (!unseen.contains(moved[i]) && best.offer(moved[i], moved_scores[i])) unchanged = 0;
      if (std::uniform_real_distribution<double>(0, 1)(rng) < chance) {
        points_[i] = std::move(moved[i]);
        scores[i] = moved_scores[i];
      }
    }
  }
  return best.sorted();
}

}  // namespace fettle::tune
