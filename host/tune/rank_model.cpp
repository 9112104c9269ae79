// RankModel (rank_model.h).
#include "host/tune/rank_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace fettle::tune {
namespace {

constexpr int kMostRounds = 400;
constexpr int kPatience = 20;  // rounds without a better recall

// How well the k best predictions cover the k best trials, averaged over k <= top.
double average_recall(std::span<const float> predictions, const std::vector<float>& scores,
                      std::size_t top) {
  const auto order = [](auto values) {
    std::vector<std::size_t> places(values.size());
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(),
                     [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    return places;
  };
  const auto predicted = order(predictions);
  const auto actual = order(std::span<const float>(scores));
  std::vector<std::size_t> rank(scores.size());
  for (std::size_t i = 0; i < actual.size(); ++i) rank[actual[i]] = i;
  top = std::min(top, scores.size());
  double sum = 0;
  for (std::size_t k = 1; k <= top; ++k) {
    std::size_t hits = 0;
    for (std::size_t i = 0; i < k; ++i) hits += rank[predicted[i]] < k;
    sum += static_cast<double>(hits) / static_cast<double>(k);
  }
  return sum / static_cast<double>(top);
}

float at(const std::vector<float>& row, std::size_t column) {
  return column < row.size() ? row[column] : std::numeric_limits<float>::quiet_NaN();
}

std::vector<std::size_t> differing_columns(const std::vector<std::vector<float>>& rows) {
  std::size_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, row.size());
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < longest; ++c) {
    const float first = at(rows.front(), c);
    const bool differs = std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
      const float value = at(row, c);
      return value != first && !(std::isnan(value) && std::isnan(first));
    });
    if (differs) columns.push_back(c);
  }
  return columns;
}

void add(cost::Table& table, const std::vector<float>& row,
         const std::vector<std::size_t>& columns) {
  for (const std::size_t c : columns) table.values.push_back(at(row, c));
}

}  // namespace

Result<RankModel> RankModel::train(const std::vector<std::vector<float>>& rows,
                                   const std::vector<float>& scores, std::size_t top,
                                   std::uint32_t seed) {
  std::vector<std::size_t> columns;
  if (!rows.empty()) columns = differing_columns(rows);
  if (columns.empty()) return Error{ErrorCode::InvalidArgument, "all trials look the same", {}};
  cost::TrainingData data;
  data.features.columns = columns.size();
  for (const auto& row : rows) add(data.features, row, columns);
  data.labels = scores;
  double best_recall = -1;
  int unchanged = 0;
  cost::BoosterOptions options;
  options.objective = cost::Objective::Rank;
  options.rounds = kMostRounds;
  options.depth = 3;
  options.learning_rate = 0.3;
  options.seed = seed;
  options.finished = [&](std::span<const float> predictions) {
    const double recall = average_recall(predictions, scores, top);
    unchanged = recall > best_recall ? 0 : unchanged + 1;
    best_recall = std::max(best_recall, recall);
    return unchanged >= kPatience;
  };
  auto booster = cost::Booster::train(data, options);
  if (!booster) return std::move(booster).error();
  return RankModel(std::move(columns), std::move(*booster));
}

std::vector<float> RankModel::predict(const std::vector<std::vector<float>>& rows) const {
  cost::Table table{columns_.size(), {}};
  for (const auto& row : rows) add(table, row, columns_);
  return booster_.predict(table);
}

}  // namespace fettle::tune
