// Booster: gradient-boosted trees by XGBoost, trained at once from a table. The only
// file pair that knows XGBoost's C interface.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::cost {

// Row-major; NaN: not known of that row.
struct Table {
  std::size_t columns = 0;
  std::vector<float> values;
  std::size_t rows() const { return columns ? values.size() / columns : 0; }
  void add(std::span<const float> row);  // padded with NaN, or cut, to `columns`
};

struct TrainingData {
  Table features;
  // Ranking: scores, higher is better. Times: the time, positive.
  std::vector<float> labels;
  std::vector<bool> censored;  // times: at least the label; empty: none is
  std::vector<float> weights;  // empty: all one
};

enum class Objective {
  Rank,  // pairwise: predictions order the rows, higher is better
  Time   // accelerated failure time: predictions are logarithms of times, base e
};

struct BoosterOptions {
  Objective objective = Objective::Time;
  int rounds = 60, depth = 6, bins = 64;  // of a feature's values
  double learning_rate = 0.2, row_share = 1;
  double column_share = 1, node_column_share = 1;  // of each tree; and of these, at each split
  double minimum_weight = 1;                       // of what a leaf rests on
  std::uint32_t seed = 0;
  // Asked after each round with the predictions for the training rows; true ends it.
  std::function<bool(std::span<const float>)> finished;
};

// Never changed once made: predict may be called from several threads. One core.
class Booster {
 public:
  // InvalidArgument: no rows, or a table of another shape. Internal: XGBoost's words.
  static Result<Booster> train(const TrainingData& data, const BoosterOptions& options);
  // A booster of these trees and options.rounds more, which learn what these get wrong of `data`.
  // Columns and objective are those of the training. Errors as of train().
  Result<Booster> refitted(const TrainingData& data, const BoosterOptions& options) const;
  // XGBoost's own binary form of it, UBJSON. Malformed: it is none.
  Result<std::string> text() const;
  static Result<Booster> parse(std::string_view text);
  // One number a row; the table must have as many columns as the training data.
  std::vector<float> predict(const Table& features) const;

 private:
  explicit Booster(std::shared_ptr<void> handle) : handle_(std::move(handle)) {}
  static Result<Booster> made(const TrainingData& data, const BoosterOptions& options,
                              const Booster* before);
  Result<void> grow(void* table, std::size_t rows, const BoosterOptions& options);
  std::shared_ptr<void> handle_;
};

}  // namespace fettle::cost
