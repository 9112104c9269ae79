// Learning from one half of a task's trials, predicting the other (prediction.h).
#include "host/plot/prediction.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "host/backend/backend.h"
#include "host/cost/knob_features.h"
#include "host/cost/time_model.h"
#include "host/space/workload.h"

namespace fettle::plot {
namespace {

constexpr std::uint32_t kSeed = 1;

std::optional<space::SearchSpace> space_of(const std::string& workload_text,
                                           const std::string& target_text) {
  const auto workload = space::Workload::parse(workload_text);
  const auto target = space::Target::parse(target_text);
  if (!workload || !target) return std::nullopt;
  const auto task = backend::open_task(*workload, *target);
  if (!task) return std::nullopt;
  return (*task)->space();
}

// Each configuration once, as it was first measured; the newest kMostLearnt.
std::vector<cost::Trial> rows_of(const space::SearchSpace& space,
                                 const std::vector<MeasuredTrial>& trials) {
  std::vector<cost::Trial> rows;
  std::unordered_set<std::string> seen;
  for (const MeasuredTrial& trial : trials) {
    if (!seen.insert(trial.configuration).second) continue;
    const auto configuration = space.parse(trial.configuration);
    if (!configuration) continue;  // of an older space
    rows.push_back({cost::knob_features(space, *configuration), trial.nanoseconds, false});
  }
  if (rows.size() > kMostLearnt) {
    rows.erase(rows.begin(), rows.end() - static_cast<std::ptrdiff_t>(kMostLearnt));
  }
  return rows;
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) ranks[order[j]] = 0.5 * static_cast<double>(i + end - 1);
    i = end;
  }
  return ranks;
}

}  // namespace

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = 0.5 * (static_cast<double>(x.size()) - 1);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

std::optional<Prediction> predict_held_back(const std::string& workload, const std::string& target,
                                            const std::vector<MeasuredTrial>& trials) {
  if (trials.size() < kFewestLearnt) return std::nullopt;
  const auto space = space_of(workload, target);
  if (!space) return std::nullopt;
  const std::vector<cost::Trial> rows = rows_of(*space, trials);
  if (rows.size() < kFewestLearnt) return std::nullopt;

  std::vector<cost::Trial> learnt;
  cost::Table unseen{cost::knob_feature_count(*space), {}};
  std::vector<double> measured;
  double best = INFINITY;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % 2 == 0) {
      learnt.push_back(rows[i]);
      best = std::min(best, rows[i].nanoseconds);
    } else {
      unseen.add(rows[i].row);
      measured.push_back(rows[i].nanoseconds);
    }
  }
  const auto model = cost::TimeModel::train(unseen.columns, learnt, {}, {}, kSeed);
  if (!model) return std::nullopt;
  // The model learns multiples of the best time that it was given.
  std::vector<double> predicted;
  for (const float log_time : model->mean(unseen)) predicted.push_back(best * std::exp(log_time));

  Prediction prediction;
  prediction.rank_correlation = rank_correlation(predicted, measured);
  if (!std::isfinite(prediction.rank_correlation)) return std::nullopt;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    prediction.held_back.push_back({predicted[i], measured[i]});
  }
  return prediction;
}

}  // namespace fettle::plot
