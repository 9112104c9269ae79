// Booster (booster.h).
#include "host/cost/booster.h"

#include <xgboost/c_api.h>

#include <cassert>
#include <charconv>
#include <cstdio>
#include <limits>
#include <string>

namespace fettle::cost {

namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

Error failed(const char* doing) {
  return Error{ErrorCode::Internal, std::string("XGBoost: ") + XGBGetLastError(), {doing}};
}

struct FreeMatrix {
  void operator()(void* handle) const { XGDMatrixFree(handle); }
};
using Matrix = std::unique_ptr<void, FreeMatrix>;

// XGBoost takes vectors of at least one element by address.
bool set(DMatrixHandle matrix, const char* field, const std::vector<float>& values) {
  return XGDMatrixSetFloatInfo(matrix, field, values.data(), values.size()) == 0;
}

Result<Matrix> matrix_of(const TrainingData& data, Objective objective) {
  const std::size_t rows = data.features.rows();
  if (rows == 0 || data.labels.size() != rows ||
      (!data.weights.empty() && data.weights.size() != rows) ||
      (!data.censored.empty() && data.censored.size() != rows)) {
    return Error{ErrorCode::InvalidArgument, "a training table without rows, or of two lengths"};
  }
  DMatrixHandle handle = nullptr;
  if (XGDMatrixCreateFromMat(data.features.values.data(), rows, data.features.columns, kMissing,
                             &handle) != 0) {
    return failed("making the training table");
  }
  Matrix matrix(handle);
  bool good = true;
  if (objective == Objective::Rank) {
    const unsigned group = static_cast<unsigned>(rows);
    good =
        set(handle, "label", data.labels) && XGDMatrixSetUIntInfo(handle, "group", &group, 1) == 0;
  } else {
    std::vector<float> high = data.labels;
    for (std::size_t i = 0; i < data.censored.size(); ++i) {
      if (data.censored[i]) high[i] = std::numeric_limits<float>::infinity();
    }
    good = set(handle, "label_lower_bound", data.labels) && set(handle, "label_upper_bound", high);
    // Weights are per row here; a ranking takes them per group.
    if (good && !data.weights.empty()) good = set(handle, "weight", data.weights);
  }
  if (!good) return failed("labelling the training table");
  return matrix;
}

// With a point, whatever locale the program that has libfettle chose: XGBoost wants that.
std::string number(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 6).ptr;
  return {text, end};
}

Result<void> configure(BoosterHandle booster, const BoosterOptions& options) {
  const bool rank = options.objective == Objective::Rank;
  const std::pair<const char*, std::string> parameters[] = {
      {"objective", rank ? "rank:pairwise" : "survival:aft"},
      {"aft_loss_distribution", "normal"},
      {"aft_loss_distribution_scale", "1.0"},
      {"eval_metric", rank ? "rmse" : "aft-nloglik"},
      {"tree_method", rank ? "exact" : "hist"},
      {"max_bin", std::to_string(options.bins)},
      {"max_depth", std::to_string(options.depth)},
      {"eta", number(options.learning_rate)},
      {"gamma", rank ? "0.0001" : "0"},
      {"min_child_weight", number(options.minimum_weight)},
      {"subsample", number(options.row_share)},
      {"colsample_bytree", number(options.column_share)},
      {"colsample_bynode", number(options.node_column_share)},
      {"lambda", "1"},
      {"seed", std::to_string(options.seed)},
      {"nthread", "1"},
      {"verbosity", "0"},
  };
  for (const auto& [name, value] : parameters) {
    if (rank && std::string_view(name).starts_with("aft")) continue;
    if (XGBoosterSetParam(booster, name, value.c_str()) != 0) return failed(name);
  }
  return {};
}

constexpr const char* kPredictMargin =
    R"({"type":1,"training":false,"iteration_begin":0,"iteration_end":0,"strict_shape":false})";

}  // namespace

void Table::add(std::span<const float> row) {
  const std::size_t known = std::min(row.size(), columns);
  values.insert(values.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(known));
  values.insert(values.end(), columns - known, kMissing);
}

Result<Booster> Booster::train(const TrainingData& data, const BoosterOptions& options) {
  return made(data, options, nullptr);
}

Result<Booster> Booster::refitted(const TrainingData& data, const BoosterOptions& options) const {
  return made(data, options, this);
}

Result<Booster> Booster::made(const TrainingData& data, const BoosterOptions& options,
                              const Booster* before) {
  auto matrix = matrix_of(data, options.objective);
  if (!matrix) return std::move(matrix).error();
  const DMatrixHandle table = matrix->get();
  BoosterHandle raw = nullptr;
  if (XGBoosterCreate(&table, 1, &raw) != 0) return failed("making a booster");
  Booster booster(std::shared_ptr<void>(raw, [](void* handle) { XGBoosterFree(handle); }));
  if (before) {
    bst_ulong length = 0;
    const char* bytes = nullptr;
    if (XGBoosterSerializeToBuffer(before->handle_.get(), &length, &bytes) != 0 ||
        XGBoosterUnserializeFromBuffer(raw, bytes, length) != 0) {
      return failed("copying a model");
    }
  }
  if (auto done = booster.grow(table, data.features.rows(), options); !done) {
    return std::move(done).error();
  }
  return booster;
}

Result<void> Booster::grow(void* table, std::size_t rows, const BoosterOptions& options) {
  void* const raw = handle_.get();
  if (auto done = configure(raw, options); !done) return done;
  int first = 0;
  if (XGBoosterBoostedRounds(raw, &first) != 0) return failed("counting the rounds");
  for (int round = first; round < first + options.rounds; ++round) {
    if (XGBoosterUpdateOneIter(raw, round, table) != 0) return failed("training");
    if (!options.finished) continue;
    const bst_ulong* shape = nullptr;
    bst_ulong dimensions = 0;
    const float* result = nullptr;
    if (XGBoosterPredictFromDMatrix(raw, table, kPredictMargin, &shape, &dimensions, &result) !=
        0) {
      return failed("watching the training");
    }
    if (options.finished({result, rows})) break;
  }
  return {};
}

Result<std::string> Booster::text() const {
  bst_ulong length = 0;
  const char* bytes = nullptr;
  if (XGBoosterSaveModelToBuffer(handle_.get(), R"({"format":"ubj"})", &length, &bytes) != 0) {
    return failed("writing a model");
  }
  return std::string(bytes, length);
}

Result<Booster> Booster::parse(std::string_view text) {
  // What begins otherwise XGBoost takes for a form of earlier versions.
  if (!text.starts_with('{')) return Error{ErrorCode::Malformed, "not an XGBoost model", {}};
  BoosterHandle raw = nullptr;
  if (XGBoosterCreate(nullptr, 0, &raw) != 0) return failed("making a booster");
  Booster booster(std::shared_ptr<void>(raw, [](void* handle) { XGBoosterFree(handle); }));
  if (XGBoosterLoadModelFromBuffer(raw, text.data(), text.size()) != 0) {
    Error error = failed("reading a model");
    error.code = ErrorCode::Malformed;
    return error;
  }
  if (XGBoosterSetParam(raw, "nthread", "1") != 0) return failed("nthread");
  return booster;
}

std::vector<float> Booster::predict(const Table& features) const {
  const std::size_t rows = features.rows();
  if (rows == 0) return {};
  char values[200];
  std::snprintf(
      values, sizeof values,
      R"({"data":[%llu,true],"shape":[%zu,%zu],"typestr":"<f4","version":3})",
      static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(features.values.data())),
      rows, features.columns);
  static const std::string config =
      R"({"type":1,"training":false,"iteration_begin":0,"iteration_end":0,"strict_shape":false,)"
      R"("cache_id":0,"missing":NaN})";
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* result = nullptr;
  const int status = XGBoosterPredictFromDense(handle_.get(), values, config.c_str(), nullptr,
                                               &shape, &dimensions, &result);
  assert(status == 0 && "the table has other columns than the training data");
  if (status != 0) return std::vector<float>(rows, 0);
  return {result, result + rows};
}

}  // namespace fettle::cost
