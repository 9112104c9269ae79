// AutoTVM's XGBoost tuner: plans of 64 trials, the first one random. Before each
// further plan a ranking model is trained on all trials, and simulated annealing
// looks for the configurations that it ranks first; a twentieth of a plan is random.
#include <algorithm>
#include <numeric>

#include "host/cost/booster.h"
#include "host/cost/knob_features.h"
#include "host/tune/annealing.h"
#include "host/tune/searchers.h"

namespace fettle::tune {
namespace {

constexpr std::size_t kPlan = 64;
constexpr std::size_t kRandomOfPlan = kPlan / 20;
constexpr int kMostRounds = 400;
constexpr int kPatience = 20;  // rounds without a better recall

// How well the k best predictions cover the k best trials, averaged over k <= kPlan.
double average_recall(std::span<const float> predictions, const std::vector<float>& labels) {
  const auto order = [](auto values) {
    std::vector<std::size_t> places(values.size());
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(),
                     [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    return places;
  };
  const auto predicted = order(predictions);
  const auto actual = order(std::span<const float>(labels));
  std::vector<std::size_t> rank(labels.size());
  for (std::size_t i = 0; i < actual.size(); ++i) rank[actual[i]] = i;
  const std::size_t top = std::min(kPlan, labels.size());
  double sum = 0;
  for (std::size_t k = 1; k <= top; ++k) {
    std::size_t hits = 0;
    for (std::size_t i = 0; i < k; ++i) hits += rank[predicted[i]] < k;
    sum += static_cast<double>(hits) / static_cast<double>(k);
  }
  return sum / static_cast<double>(top);
}

class XgbSearcher final : public Searcher {
 public:
  XgbSearcher(const space::SearchSpace& space, const SearcherOptions& options)
      : space_(space),
        seed_(static_cast<std::uint32_t>(options.seed)),
        unseen_(space),
        rng_(options.seed),
        annealing_(space, {}) {
    data_.features.columns = cost::knob_feature_count(space);
  }

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
    data_.features.add(cost::knob_features(space_, observation.configuration));
    speeds_.push_back(observation.nanoseconds ? 1 / *observation.nanoseconds : 0);
    any_success_ |= observation.nanoseconds.has_value();
  }

 private:
  void make_plan() {
    ++plans_;
    const double most = *std::max_element(speeds_.begin(), speeds_.end());
    data_.labels.clear();
    for (double speed : speeds_) data_.labels.push_back(static_cast<float>(speed / most));
    double best_recall = -1;
    int unchanged = 0;
    cost::BoosterOptions options;
    options.objective = cost::Objective::Rank;
    options.rounds = kMostRounds;
    options.depth = 3;
    options.learning_rate = 0.3;
    options.seed = seed_;
    options.finished = [&](std::span<const float> predictions) {
      const double recall = average_recall(predictions, data_.labels);
      unchanged = recall > best_recall ? 0 : unchanged + 1;
      best_recall = std::max(best_recall, recall);
      return unchanged >= kPatience;
    };
    const auto model = cost::Booster::train(data_, options);
    if (!model) return;  // random draws go on
    const auto score = [&](std::span<const space::Configuration> configurations) {
      cost::Table table{data_.features.columns, {}};
      for (const auto& configuration : configurations) {
        table.add(cost::knob_features(space_, configuration));
      }
      return model->predict(table);
    };
    plan_ = annealing_.maximums(kPlan, score, unseen_, rng_);
    std::reverse(plan_.begin(), plan_.end());
  }

  const space::SearchSpace& space_;
  std::uint32_t seed_;
  Unseen unseen_;
  std::mt19937_64 rng_;
  Annealing annealing_;
  cost::TrainingData data_;
  std::vector<double> speeds_;
  std::vector<space::Configuration> plan_;  // best one last; the first are replaced by draws
  std::size_t plans_ = 0;
  bool any_success_ = false;
};

}  // namespace

std::unique_ptr<Searcher> make_xgb(const space::SearchSpace& space,
                                   const SearcherOptions& options) {
  return std::make_unique<XgbSearcher>(space, options);
}

}  // namespace fettle::tune
