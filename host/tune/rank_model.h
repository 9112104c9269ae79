// AutoTVM's model: boosted trees that order configurations by rank, trained until the recall of the
// best ones stops improving.
#pragma once

#include <vector>

#include "host/cost/booster.h"

namespace fettle::tune {

class RankModel {
 public:
  // A row of features for each score; higher scores are better. Rows may end before the longest
  // one does: NaN from there. `top`: how many of the best the recall is of. InvalidArgument: there
  // is nothing by which rows differ. Internal: XGBoost's words.
  static Result<RankModel> train(const std::vector<std::vector<float>>& rows,
                                 const std::vector<float>& scores, std::size_t top,
                                 std::uint32_t seed);
  // Higher is better; one number a row.
  std::vector<float> predict(const std::vector<std::vector<float>>& rows) const;

 private:
  RankModel(std::vector<std::size_t> columns, cost::Booster booster)
      : columns_(std::move(columns)), booster_(std::move(booster)) {}
  // Those in which rows differ; no tree could split at another one.
  std::vector<std::size_t> columns_;
  cost::Booster booster_;
};

}  // namespace fettle::tune
