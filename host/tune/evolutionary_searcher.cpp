// Evolutionary search: evolution guided by a cost model (evolutionary_planner.h),
// planned a few trials ahead. With a Background the next plan is made while the last
// one is being tried, and waited for where that one ends first: a trial without a plan is hardly
// worth its time.
#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <unordered_set>

#include "host/tune/background.h"
#include "host/tune/evolutionary_planner.h"
#include "host/tune/pace.h"
#include "host/tune/searchers.h"

namespace fettle::tune {
namespace {

constexpr std::size_t kBatch = 8;  // trials of a plan
// While little is known each trial teaches much: plans are shorter then. (Those made beside
// the loop are renewed before they end, but where other tasks' plans keep the thread busy: what is
// short then is the host's time, and a plan that is used up serves more trials.)
constexpr std::size_t kFew = 64, kEarlyBatch = 4;
constexpr std::size_t kEarlySpare = 4, kSpare = 8;  // for while the next plan is being made
constexpr int kMutationTries = 16;                  // of the fastest, when a plan is empty

class EvolutionarySearcher final : public Searcher {
 public:
  EvolutionarySearcher(const space::SearchSpace& space, const SearcherOptions& options)
      : space_(space),
        options_(options),
        known_{{}, Unseen(space)},
        rng_(options.seed + 1),
        shared_(std::make_shared<Shared>(space, options)) {
    if (options_.background) start_plan();
  }

  std::vector<space::Configuration> propose(std::size_t n) override {
    std::vector<space::Configuration> proposals;
    while (proposals.size() < n) {
      auto configuration = next();
      if (!configuration) break;
      ++under_way_;
      proposals.push_back(std::move(*configuration));
    }
    return proposals;
  }

  void observe(const Observation& observation) override {
    known_.unseen.insert(observation.configuration);
    if (under_way_ > 0) --under_way_;  // not so of a history, which was never proposed here
    if (observation.lost) return;
    Knowledge::Trial trial{observation.configuration,
                           observation.nanoseconds.value_or(0),
                           observation.censored,
                           {observation.features.begin(), observation.features.end()}};
    // A build worker says what they are, and others' plans read what is taught here.
    if (trial.features.size() == options_.feature_count && options_.feature_count > 0) {
      if (options_.prior) options_.prior->correct(trial.features);
      if (options_.experience) {
        options_.experience->add(options_.task, {trial.features, trial.nanoseconds, false});
      }
    }
    known_.trials.push_back(std::move(trial));
    ++news_;
  }

  bool ready() override {
    if (!options_.background) return true;
    if (first_) {
      const std::lock_guard lock(shared_->mutex);
      return !shared_->planning;
    }
    if (plan_.empty()) take_plan();
    if (!plan_.empty() || barren_) return true;
    if (!awaits_first_trials()) start_plan();
    return false;
  }

  SearchStatistics statistics() const override {
    const std::lock_guard lock(shared_->mutex);
    return shared_->statistics;
  }

 private:
  // What a plan under way may still touch when this searcher is gone.
  struct Shared {
    Shared(const space::SearchSpace& space, const SearcherOptions& options)
        : planner(space, options) {}
    EvolutionaryPlanner planner;  // of the thread that plans
    std::mutex mutex;             // of the rest
    std::condition_variable planned;
    bool planning = false;
    std::optional<std::vector<EvolutionaryPlanner::Place>> made;
    SearchStatistics statistics;
  };

  // The first plan's trials are on their way: another one would know no more than it did.
  bool awaits_first_trials() const {
    return under_way_ > 0 && trials_missing(options_, known_.trials.size()) > 0;
  }

  void wait_for_plan() {
    std::unique_lock lock(shared_->mutex);
    shared_->planned.wait(lock, [this] { return !shared_->planning; });
  }

  // The first plan was begun when nothing was known. After a resumed history it is worth
  // nothing.
  void take_first_plan() {
    wait_for_plan();
    if (!known_.trials.empty()) {
      const std::lock_guard lock(shared_->mutex);
      shared_->made.reset();
    }
    first_ = false;
  }

  std::optional<space::Configuration> next() {
    if (first_ && options_.background) take_first_plan();
    take_plan();
    if (options_.background) {
      if (plan_.empty() || (news_ >= kBatch / 2 && options_.background->idle())) start_plan();
      for (int plans = 0; plan_.empty() && !barren_ && plans < 2; ++plans) {
        start_plan();
        wait_for_plan();
        take_plan();
      }
    } else if (plan_.empty()) {
      start_plan();
      take_plan();
    }
    while (!plan_.empty()) {
      const EvolutionaryPlanner::Place place = std::move(plan_.back());
      plan_.pop_back();
      if (!known_.unseen.insert(place.configuration)) continue;
      begun_.insert(place.features_hash);
      return place.configuration;
    }
    return without_plan();
  }

  // Where boards wait it is for plans only if these queue up or come too late.
  double thought() const {
    if (!options_.background || !options_.pace) return 1;
    const bool pressed = plan_.empty() || !options_.background->idle();
    return pressed ? options_.pace->thought() : 1;
  }

  std::size_t plan_size(double thought) const {
    const std::size_t known = known_.trials.size();
    const bool early = known > 0 && known < kFew;
    if (!options_.background) return early ? kEarlyBatch : kBatch;
    const std::size_t plain = early ? kEarlyBatch + kEarlySpare : kBatch + kSpare;
    return static_cast<std::size_t>(std::ceil(static_cast<double>(plain) / thought));
  }

  void start_plan() {
    {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->planning) return;
      shared_->planning = true;
    }
    news_ = 0;
    begun_.clear();
    const double share = thought();
    const std::size_t wanted = plan_size(share);
    auto job = [shared = shared_, known = known_, wanted, share] {
      auto made = shared->planner.plan(known, wanted, share);
      const std::lock_guard lock(shared->mutex);
      shared->made = std::move(made);
      shared->statistics = shared->planner.statistics();
      shared->planning = false;
      shared->planned.notify_all();
    };
    if (options_.background) {
      options_.background->post(std::move(job));
    } else {
      job();
    }
  }

  void take_plan() {
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->made) return;
    plan_ = std::move(*shared_->made);
    shared_->made.reset();
    std::reverse(plan_.begin(), plan_.end());
    barren_ = plan_.empty();
    std::erase_if(plan_, [this](const EvolutionaryPlanner::Place& place) {
      return known_.unseen.contains(place.configuration) ||
             (place.features_hash != 0 && begun_.contains(place.features_hash));
    });
  }

  std::optional<space::Configuration> without_plan() {
    const Knowledge::Trial* fastest = nullptr;
    for (const auto& trial : known_.trials) {
      if (trial.nanoseconds <= 0 || trial.censored) continue;
      if (!fastest || trial.nanoseconds < fastest->nanoseconds) fastest = &trial;
    }
    for (int i = 0; fastest && i < kMutationTries; ++i) {
      space::Configuration child = space_.mutate(fastest->configuration, rng_);
      if (known_.unseen.insert(child)) return child;
    }
    return known_.unseen.draw(rng_);
  }

  const space::SearchSpace& space_;
  SearcherOptions options_;
  Knowledge known_;
  std::mt19937_64 rng_;
  std::shared_ptr<Shared> shared_;
  std::vector<EvolutionaryPlanner::Place> plan_;  // next one last
  // Hashes of what was proposed since the plan being made was begun, and which it knows nothing of.
  std::unordered_set<std::size_t> begun_;
  bool first_ = true;          // plan: not yet taken
  bool barren_ = false;        // the last plan had nothing
  std::size_t under_way_ = 0;  // proposed, not yet observed
  std::size_t news_ = 0;       // observations since the last plan was begun
};

}  // namespace

std::unique_ptr<Searcher> make_evolutionary(const space::SearchSpace& space,
                                            const SearcherOptions& options) {
  return std::make_unique<EvolutionarySearcher>(space, options);
}

}  // namespace fettle::tune
