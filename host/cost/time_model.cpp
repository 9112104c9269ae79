// TimeModel (time_model.h).
#include "host/cost/time_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fettle::cost {

namespace {

constexpr double kLongest = 20;      // multiples of the best; slower ones teach nothing more
constexpr double kFailedFactor = 2;  // a failure: at least so many times the slowest

constexpr const char* kEstimate = "log_estimated_cycles";  // as host/lower names it

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

Result<TimeModel> TimeModel::train(std::size_t columns, const std::vector<Trial>& trials,
                                   const std::vector<Sample>& others,
                                   const TimeModelOptions& options, std::uint32_t seed) {
  TimeModel model;
  model.estimate_ = options.estimate;
  const Trial* best = nullptr;
  double worst = 0;
  for (const Trial& trial : trials) {
    if (trial.nanoseconds <= 0) continue;
    if (!trial.censored && (!best || trial.nanoseconds < best->nanoseconds)) best = &trial;
    worst = std::max(worst, trial.nanoseconds);
  }
  TrainingData data;
  data.features.columns = columns;
  const auto add = [&](const std::vector<float>& row, double time, bool censored, double weight) {
    data.features.add(row);
    data.labels.push_back(static_cast<float>(time));
    data.censored.push_back(censored);
    data.weights.push_back(static_cast<float>(weight));
  };
  if (best) {
    if (options.estimate && std::isfinite(best->row[*options.estimate])) {
      model.reference_ = best->row[*options.estimate];
    }
    const double slow = std::min(kFailedFactor * worst / best->nanoseconds, kLongest);
    for (const Trial& trial : trials) {
      const bool failed = trial.nanoseconds <= 0;
      const double time = failed ? slow : trial.nanoseconds / best->nanoseconds;
      add(trial.row, std::min(time, kLongest) / std::exp(model.expected(trial.row)),
          failed || trial.censored || time > kLongest, 1);
    }
  }
  const std::size_t step = others.size() / std::max<std::size_t>(1, options.most_foreign) + 1;
  for (std::size_t i = 0; i < others.size(); i += step) {
    const bool failed = others[i].nanoseconds <= 0;
    const double time = failed ? kFailedFactor : others[i].nanoseconds;
    add(others[i].features, std::min(time, kLongest),
        failed || others[i].censored || time > kLongest, options.foreign_weight);
  }
  if (data.labels.empty()) {
    return Error{ErrorCode::InvalidArgument, "no measured time to learn from", {}};
  }
  for (std::size_t i = 0; i < options.members; ++i) {
    BoosterOptions booster;
    booster.objective = Objective::Time;
    booster.rounds = options.rounds;
    booster.depth = options.depth;
    booster.bins = options.bins;
    booster.learning_rate = options.learning_rate;
    booster.row_share = options.members > 1 ? 0.8 : 1;
    booster.column_share = options.members > 1 ? 0.6 : 1;
    booster.minimum_weight = 0.1;
    booster.seed = seed + static_cast<std::uint32_t>(i) * 7919;
    auto member = Booster::train(data, booster);
    if (!member) return std::move(member).error();
    model.members_.push_back(std::move(*member));
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
