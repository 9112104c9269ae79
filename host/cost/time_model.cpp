// TimeModel (time_model.h).
#include "host/cost/time_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fettle::cost {

namespace {

constexpr double kLongest = 20;        // multiples of the best; slower ones teach nothing more
constexpr double kFailedFactor = 2;    // a failure: at least so many times the slowest
constexpr double kMuchFaster = 1.1;    // than the fastest that a model was begun with
constexpr double kManyMore = 2.2;      // trials than it was begun with
constexpr double kColumnsEnough = 24;  // for each split to look at all of a tree's

constexpr const char* kEstimate = "log_estimated_cycles";  // as host/lower names it

// Null: no time was measured whole.
const Trial* fastest(const std::vector<Trial>& trials) {
  const Trial* best = nullptr;
  for (const Trial& trial : trials) {
    if (trial.nanoseconds <= 0 || trial.censored) continue;
    if (!best || trial.nanoseconds < best->nanoseconds) best = &trial;
  }
  return best;
}

BoosterOptions member_options(const TimeModelOptions& options, std::size_t columns, int rounds,
                              std::uint32_t seed, std::size_t member) {
  BoosterOptions booster;
  booster.objective = Objective::Time;
  booster.rounds = rounds;
  booster.depth = options.depth;
  booster.bins = options.bins;
  booster.learning_rate = options.learning_rate;
  booster.row_share = options.members > 1 ? 0.8 : 1;
  booster.column_share = options.members > 1 ? 0.6 : 1;
  // A training's time goes into looking for splits: these two and the rounds halve it. By what
  // models of shipped trials (host/cost/priors/trials) say of other trials, they lose nothing.
  booster.node_column_share = std::clamp(kColumnsEnough / double(columns), 0.4, 1.0);
  booster.minimum_weight = 2;
  booster.seed = seed + static_cast<std::uint32_t>(member) * 7919;
  return booster;
}

}  // namespace

std::optional<std::size_t> estimate_among(const std::vector<std::string>& feature_names) {
  const auto found = std::find(feature_names.begin(), feature_names.end(), kEstimate);
  if (found == feature_names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - feature_names.begin());
}

double TimeModel::expected(std::span<const float> row) const {
  if (!estimate_ || !std::isfinite(row[*estimate_])) return 0;
  return (row[*estimate_] - reference_) * std::numbers::ln2;
}

TrainingData TimeModel::data(std::size_t columns, const std::vector<Trial>& trials,
                             const std::vector<Sample>& others,
                             const TimeModelOptions& options) const {
  TrainingData data;
  data.features.columns = columns;
  const auto add = [&](const std::vector<float>& row, double time, bool censored, double weight) {
    data.features.add(row);
    data.labels.push_back(static_cast<float>(time));
    data.censored.push_back(censored);
    data.weights.push_back(static_cast<float>(weight));
  };
  double worst = 0;
  for (const Trial& trial : trials) worst = std::max(worst, trial.nanoseconds);
  if (unit_ > 0) {
    const double slow = std::min(kFailedFactor * worst / unit_, kLongest);
    for (const Trial& trial : trials) {
      const bool failed = trial.nanoseconds <= 0;
      const double time = failed ? slow : trial.nanoseconds / unit_;
      add(trial.row, std::min(time, kLongest) / std::exp(expected(trial.row)),
          failed || trial.censored || time > kLongest, 1);
    }
  }
  const std::size_t most = std::max<std::size_t>(1, options.most_foreign);
  const std::size_t step = (others.size() + most - 1) / most;
  for (std::size_t i = 0; i < others.size(); i += step) {
    const bool failed = others[i].nanoseconds <= 0;
    const double time = failed ? kFailedFactor : others[i].nanoseconds;
    add(others[i].features, std::min(time, kLongest),
        failed || others[i].censored || time > kLongest, options.foreign_weight);
  }
  return data;
}

Result<TimeModel> TimeModel::train(std::size_t columns, const std::vector<Trial>& trials,
                                   const std::vector<Sample>& others,
                                   const TimeModelOptions& options, std::uint32_t seed) {
  TimeModel model;
  model.estimate_ = options.estimate;
  model.columns_ = columns;
  model.rounds_ = options.rounds;
  model.trials_ = trials.size();
  if (const Trial* best = fastest(trials)) {
    model.unit_ = best->nanoseconds;
    if (options.estimate && std::isfinite(best->row[*options.estimate])) {
      model.reference_ = best->row[*options.estimate];
    }
  }
  const TrainingData data = model.data(columns, trials, others, options);
  if (data.labels.empty()) {
    return Error{ErrorCode::InvalidArgument, "no measured time to learn from", {}};
  }
  for (std::size_t i = 0; i < options.members; ++i) {
    auto member = Booster::train(data, member_options(options, columns, options.rounds, seed, i));
    if (!member) return std::move(member).error();
    model.members_.push_back(std::move(*member));
  }
  return model;
}

Result<TimeModel> TimeModel::refit(const TimeModel& before, std::size_t columns,
                                   const std::vector<Trial>& trials,
                                   const std::vector<Sample>& others,
                                   const TimeModelOptions& options, std::uint32_t seed) {
  const Trial* const best = fastest(trials);
  if (!best || before.unit_ <= 0 || before.unit_ > kMuchFaster * best->nanoseconds ||
      static_cast<double>(trials.size()) >= kManyMore * static_cast<double>(before.trials_) ||
      before.columns_ != columns || before.estimate_ != options.estimate ||
      before.members_.size() != options.members ||
      before.rounds_ + options.refit_rounds > options.most_rounds) {
    return train(columns, trials, others, options, seed);
  }
  TimeModel model = before;
  model.rounds_ += options.refit_rounds;
  const TrainingData data = model.data(columns, trials, others, options);
  for (std::size_t i = 0; i < model.members_.size(); ++i) {
    // XGBoost draws anew only for another seed; else it goes on with what others left.
    const std::uint32_t fresh = seed + static_cast<std::uint32_t>(model.rounds_);
    auto member = model.members_[i].refitted(
        data, member_options(options, columns, options.refit_rounds, fresh, i));
    if (!member) return std::move(member).error();
    model.members_[i] = std::move(*member);
  }
  return model;
}

std::vector<std::vector<float>> TimeModel::predict(const Table& rows) const {
  std::vector<std::vector<float>> predictions;
  for (const Booster& member : members_) {
    predictions.push_back(member.predict(rows));
    for (std::size_t i = 0; estimate_ && i < rows.rows(); ++i) {
      const std::span row(rows.values.data() + i * rows.columns, rows.columns);
      predictions.back()[i] += static_cast<float>(expected(row));
    }
  }
  return predictions;
}

std::vector<float> TimeModel::mean(const Table& rows) const {
  std::vector<float> sum(rows.rows(), 0);
  for (const std::vector<float>& one : predict(rows)) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += one[i] / static_cast<float>(members_.size());
    }
  }
  return sum;
}

}  // namespace fettle::cost
