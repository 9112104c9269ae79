// TimeModel (time_model.h).
#include "host/cost/time_model.h"

#include <algorithm>
#include <cmath>

namespace fettle::cost {

namespace {

constexpr double kLongest = 20;      // multiples of the best; slower ones teach nothing more
constexpr double kFailedFactor = 2;  // a failure: at least so many times the slowest

}  // namespace

Result<TimeModel> TimeModel::train(std::size_t columns, const std::vector<Trial>& trials,
                                   const std::vector<Sample>& others,
                                   const TimeModelOptions& options, std::uint32_t seed) {
  double best = 0, worst = 0;
  for (const Trial& trial : trials) {
    if (trial.nanoseconds <= 0) continue;
    if (!trial.censored && (best == 0 || trial.nanoseconds < best)) best = trial.nanoseconds;
    worst = std::max(worst, trial.nanoseconds);
  }
  TrainingData data;
  data.features.columns = columns;
  const auto add = [&](const std::vector<float>& row, double time, bool censored, double weight) {
    data.features.add(row);
    data.labels.push_back(static_cast<float>(std::min(time, kLongest)));
    data.censored.push_back(censored || time > kLongest);
    data.weights.push_back(static_cast<float>(weight));
  };
  if (best > 0) {
    const double slow = std::min(kFailedFactor * worst / best, kLongest);
    for (const Trial& trial : trials) {
      const bool failed = trial.nanoseconds <= 0;
      add(trial.row, failed ? slow : trial.nanoseconds / best, failed || trial.censored, 1);
    }
  }
  const std::size_t step = others.size() / std::max<std::size_t>(1, options.most_foreign) + 1;
  for (std::size_t i = 0; i < others.size(); i += step) {
    const bool failed = others[i].nanoseconds <= 0;
    add(others[i].features, failed ? kFailedFactor : others[i].nanoseconds,
        failed || others[i].censored, options.foreign_weight);
  }
  if (data.labels.empty()) {
    return Error{ErrorCode::InvalidArgument, "no measured time to learn from", {}};
  }
  TimeModel model;
  for (std::size_t i = 0; i < options.members; ++i) {
    BoosterOptions booster;
    booster.objective = Objective::Time;
    booster.rounds = options.rounds;
    booster.depth = options.depth;
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
  for (const Booster& member : members_) predictions.push_back(member.predict(rows));
  return predictions;
}

std::vector<float> TimeModel::mean(const Table& rows) const {
  std::vector<float> sum(rows.rows(), 0);
  for (const Booster& member : members_) {
    const std::vector<float> one = member.predict(rows);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += one[i] / static_cast<float>(members_.size());
    }
  }
  return sum;
}

}  // namespace fettle::cost
