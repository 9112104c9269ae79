// AutoTVM's XGBoost tuner: plans of 64 trials, the first one random. Before each
// further plan a ranking model is trained on all trials, and simulated annealing
// looks for the configurations that it ranks first; a twentieth of a plan is random.
// It is named by the features that the model sees (xgb_features.h).
#include <algorithm>

#include "host/tune/annealing.h"
#include "host/tune/rank_model.h"
#include "host/tune/searchers.h"
#include "host/tune/stopwatch.h"
#include "host/tune/xgb_features.h"

namespace fettle::tune {
namespace {

constexpr std::size_t kPlan = 64;
constexpr std::size_t kRandomOfPlan = kPlan / 20;
constexpr float kNever = -1e9f;  // score of what the model is not asked about

class XgbSearcher final : public Searcher {
 public:
  XgbSearcher(const space::SearchSpace& space, const SearcherOptions& options,
              std::unique_ptr<XgbFeatures> features, const AnnealingOptions& annealing)
      : seed_(static_cast<std::uint32_t>(options.seed)),
        features_(std::move(features)),
        unseen_(space),
        rng_(options.seed),
        annealing_(space, annealing) {}

  std::vector<space::Configuration> propose(std::size_t n) override {
    std::vector<space::Configuration> proposals;
    while (proposals.size() < n) {
      // As long as outcomes of the last plan are out, the next cannot be made: draws.
      if (plan_.empty() && speeds_.size() >= kPlan * (plans_ + 1) && any_success_) make_plan();
      std::optional<space::Configuration> configuration;
      while (!configuration && plan_.size() > kRandomOfPlan) {
        if (unseen_.insert(plan_.back())) configuration = std::move(plan_.back());
        plan_.pop_back();
      }
      if (!configuration) {
        if (!plan_.empty()) plan_.pop_back();
        configuration = unseen_.draw(rng_);
      }
      if (!configuration) break;
      proposals.push_back(std::move(*configuration));
    }
    return proposals;
  }

  // Failures are as slow as can be; what racing stopped counts with its bound.
  void observe(const Observation& observation) override {
    unseen_.insert(observation.configuration);
    if (observation.lost) return;
    tried_.push_back(observation.configuration);
    speeds_.push_back(observation.nanoseconds ? 1 / *observation.nanoseconds : 0);
    any_success_ |= observation.nanoseconds.has_value();
  }

  SearchStatistics statistics() const override {
    SearchStatistics all = statistics_;
    all += features_->statistics();
    return all;
  }

 private:
  void make_plan() {
    const Stopwatch planning(statistics_.planning_seconds);
    ++plans_;
    features_->begin_plan();
    while (rows_.size() < tried_.size()) rows_.push_back(features_->of_trial(tried_[rows_.size()]));
    const auto model = trained();
    if (!model) return;  // random draws go on
    ++statistics_.plans;
    const auto score = [&](std::span<const space::Configuration> configurations) {
      return scored(*model, configurations);
    };
    plan_ = annealing_.maximums(kPlan, score, unseen_, rng_);
    std::erase_if(plan_, [&](const auto& planned) { return !features_->of_candidate(planned); });
    std::reverse(plan_.begin(), plan_.end());
  }

  Result<RankModel> trained() {
    const Stopwatch training(statistics_.training_seconds);
    const double most = *std::max_element(speeds_.begin(), speeds_.end());
    std::vector<float> scores;
    for (double speed : speeds_) scores.push_back(static_cast<float>(speed / most));
    return RankModel::train(rows_, scores, kPlan, seed_);
  }

  std::vector<float> scored(const RankModel& model,
                            std::span<const space::Configuration> configurations) {
    std::vector<float> scores(configurations.size(), kNever);
    std::vector<std::size_t> places;
    std::vector<std::vector<float>> rows;
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      const std::vector<float>* row = features_->of_candidate(configurations[i]);
      if (!row) continue;
      places.push_back(i);
      rows.push_back(*row);
    }
    const std::vector<float> predicted = model.predict(rows);
    for (std::size_t i = 0; i < places.size(); ++i) scores[places[i]] = predicted[i];
    return scores;
  }

  std::uint32_t seed_;
  std::unique_ptr<XgbFeatures> features_;
  Unseen unseen_;
  std::mt19937_64 rng_;
  Annealing annealing_;
  std::vector<space::Configuration> tried_;
  std::vector<double> speeds_;              // of tried_
  std::vector<std::vector<float>> rows_;    // of tried_, those of earlier plans
  std::vector<space::Configuration> plan_;  // best one last; the first are replaced by draws
  std::size_t plans_ = 0;
  bool any_success_ = false;
  SearchStatistics statistics_;  // but for the features
};

// AutoTVM's 128 chains of 500 steps would lower for a minute and more. These ask for as many
// configurations as a plan may lower, so that they have cooled down when it may lower no more.
constexpr std::size_t kItervarChains = 64;
constexpr AnnealingOptions kItervarAnnealing = {
    kItervarChains, static_cast<int>(kItervarLowerings / kItervarChains) - 1, 50};

}  // namespace

std::unique_ptr<Searcher> make_xgb_knob(const space::SearchSpace& space,
                                        const SearcherOptions& options) {
  return std::make_unique<XgbSearcher>(space, options, make_knob_features(space),
                                       AnnealingOptions{});
}

std::unique_ptr<Searcher> make_xgb_itervar(const space::SearchSpace& space,
                                           const SearcherOptions& options) {
  return std::make_unique<XgbSearcher>(
      space, options, make_itervar_features(options.itervar_features), kItervarAnnealing);
}

}  // namespace fettle::tune
