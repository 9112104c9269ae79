// AutoTVM's genetic algorithm: generations of a fixed size, parents drawn by their
// speed, one-point crossover, each knob mutated with a small chance, an elite kept
// among the parents. For comparison; `evolutionary` learns a model besides.
#include <algorithm>
#include <set>

#include "host/tune/searchers.h"
#include "host/tune/unseen.h"

namespace fettle::tune {
namespace {

constexpr std::size_t kGeneration = 100;
constexpr std::size_t kElite = 3;
constexpr double kMutation = 0.1;    // chance of each knob
constexpr int kNewGeneTries = 1000;  // knobs of a child redrawn until it is a new one

class GaSearcher final : public Searcher {
 public:
  GaSearcher(const space::SearchSpace& space, const SearcherOptions& options)
      : space_(space), unseen_(space), rng_(options.seed) {}

  std::vector<space::Configuration> propose(std::size_t n) override {
    std::vector<space::Configuration> proposals;
    while (proposals.size() < n) {
      if (children_.empty() && measured_.size() >= kGeneration) next_generation();
      std::optional<space::Configuration> configuration;
      // While the last of a generation are measured, and after failures of all: draws.
      if (!children_.empty()) {
        configuration = std::move(children_.back());
        children_.pop_back();
      } else {
        configuration = unseen_.draw(rng_);
      }
      if (!configuration) break;
      proposals.push_back(std::move(*configuration));
    }
    return proposals;
  }

  void observe(const Observation& observation) override {
    unseen_.insert(observation.configuration);
    if (observation.lost) return;
    const double speed = observation.nanoseconds ? 1 / *observation.nanoseconds : 0;
    measured_.push_back({observation.configuration, speed});
  }

 private:
  struct Gene {
    space::Configuration configuration;
    double speed;
  };

  double uniform() { return std::uniform_real_distribution<double>(0, 1)(rng_); }
  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(rng_);
  }

  void next_generation() {
    std::vector<Gene> parents = std::move(measured_);
    measured_.clear();
    parents.insert(parents.end(), elite_.begin(), elite_.end());
    std::stable_sort(parents.begin(), parents.end(),
                     [](const Gene& a, const Gene& b) { return a.speed > b.speed; });
    elite_.assign(parents.begin(),
                  parents.begin() + static_cast<std::ptrdiff_t>(std::min(kElite, parents.size())));
    std::vector<double> speeds;
    for (const Gene& gene : parents) speeds.push_back(gene.speed);
    if (speeds.empty() || speeds.front() <= 0) return;  // nothing to breed from: random draws
    std::discrete_distribution<std::size_t> choose(speeds.begin(), speeds.end());
    while (children_.size() < kGeneration && !unseen_.exhausted()) {
      const auto& a = parents[choose(rng_)].configuration;
      const auto& b = parents[choose(rng_)].configuration;
      auto child = breed(a, b);
      if (!child) break;
      children_.push_back(std::move(*child));
    }
    std::reverse(children_.begin(), children_.end());
  }

  std::optional<space::Configuration> breed(const space::Configuration& a,
                                            const space::Configuration& b) {
    space::Configuration child = a;
    const auto& knobs = space_.sketches()[a.sketch].knobs;
    if (knobs.empty()) return unseen_.draw(rng_);
    if (a.sketch == b.sketch) {
      for (std::size_t k = below(knobs.size()); k < knobs.size(); ++k) {
        child.choice[k] = b.choice[k];
      }
    }
    const auto redraw = [&](std::size_t k) {
      child.choice[k] = static_cast<std::uint32_t>(below(knobs[k].options.size()));
    };
    for (std::size_t k = 0; k < knobs.size(); ++k) {
      if (uniform() < kMutation) redraw(k);
    }
    for (int i = 0; i < kNewGeneTries; ++i) {
      if (space_.contains(child) && unseen_.insert(child)) return child;
      redraw(below(knobs.size()));
    }
    return unseen_.draw(rng_);
  }

  const space::SearchSpace& space_;
  Unseen unseen_;
  std::mt19937_64 rng_;
  std::vector<space::Configuration> children_;  // next one last
  std::vector<Gene> measured_;                  // since these were bred
  std::vector<Gene> elite_;
};

}  // namespace

std::unique_ptr<Searcher> make_ga(const space::SearchSpace& space, const SearcherOptions& options) {
  return std::make_unique<GaSearcher>(space, options);
}

}  // namespace fettle::tune
