// Prior (prior.h).
#include "host/cost/prior.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <nlohmann/json.hpp>

#include "host/cost/time_model.h"

namespace fettle::cost {
namespace {

using Json = nlohmann::json;

constexpr double kMostWrong = 3;  // natural logarithm: beyond it an estimate teaches no more
constexpr int kRounds = 500, kDepth = 4;
constexpr double kLearningRate = 0.1;

// By how much the estimate is wrong, in natural logarithms: less a constant of the task.
struct Lesson {
  const Sample* sample;
  double wrong;
  double slower;  // than the task's fastest, as a factor
};

std::vector<Lesson> lessons_of(const std::vector<Sample>& samples, std::size_t estimate) {
  std::vector<Lesson> lessons;
  double fastest = 0;
  for (const Sample& sample : samples) {
    if (sample.nanoseconds <= 0 || sample.features.size() <= estimate) continue;
    lessons.push_back(
        {&sample,
         std::log(sample.nanoseconds) - double(sample.features[estimate]) * std::numbers::ln2,
         sample.nanoseconds});
    if (fastest == 0 || sample.nanoseconds < fastest) fastest = sample.nanoseconds;
  }
  if (lessons.size() < 2) return {};
  std::vector<double> wrong;
  for (Lesson& lesson : lessons) {
    lesson.slower /= fastest;
    wrong.push_back(lesson.wrong);
  }
  std::nth_element(wrong.begin(), wrong.begin() + wrong.size() / 2, wrong.end());
  for (Lesson& lesson : lessons) {
    lesson.wrong = std::clamp(lesson.wrong - wrong[wrong.size() / 2], -kMostWrong, kMostWrong);
  }
  return lessons;
}

}  // namespace

Result<void> Prior::bind(const std::vector<std::string>& feature_names) {
  const auto estimate = estimate_among(feature_names);
  if (!estimate) return Error{ErrorCode::NotFound, "features without an estimated time", {}};
  estimate_ = *estimate;
  places_.clear();
  for (const std::string& column : columns_) {
    const auto found = std::find(feature_names.begin(), feature_names.end(), column);
    if (found == feature_names.end()) {
      return Error{ErrorCode::NotFound, "no feature \"" + column + "\"", {"binding a prior"}};
    }
    places_.push_back(static_cast<std::size_t>(found - feature_names.begin()));
  }
  return {};
}

Result<Prior> Prior::train(const std::vector<std::string>& feature_names,
                           const std::map<std::string, std::vector<Sample>>& tasks,
                           std::string origin) {
  const auto estimate = estimate_among(feature_names);
  if (!estimate) {
    return Error{ErrorCode::InvalidArgument, "features without an estimated time", {}};
  }
  TrainingData data;
  data.features.columns = feature_names.size();
  for (const auto& [task, samples] : tasks) {
    const auto lessons = lessons_of(samples, *estimate);
    double sum = 0;
    for (const Lesson& lesson : lessons) sum += 1 / lesson.slower;
    for (const Lesson& lesson : lessons) {
      data.features.add(lesson.sample->features);
      data.labels.push_back(static_cast<float>(std::exp(lesson.wrong)));
      // Every task counts alike, and fast programs more than slow ones.
      data.weights.push_back(static_cast<float>(100 / lesson.slower / sum));
    }
  }
  if (data.labels.empty()) {
    return Error{ErrorCode::InvalidArgument, "no task with measured times to learn from", {}};
  }
  BoosterOptions options;
  options.rounds = kRounds;
  options.depth = kDepth;
  options.learning_rate = kLearningRate;
  options.row_share = 0.8;
  options.column_share = 0.6;
  options.minimum_weight = 2;
  auto booster = Booster::train(data, options);
  if (!booster) return std::move(booster).error().in("training a prior");
  Prior prior(std::move(*booster), feature_names, std::move(origin));
  if (auto bound = prior.bind(feature_names); !bound) return std::move(bound).error();
  return prior;
}

Result<Prior> Prior::parse(std::string_view text, const std::vector<std::string>& feature_names) {
  const std::size_t end = text.find('\n');
  const Json head = Json::parse(text.substr(0, end), nullptr, false);
  if (end == std::string_view::npos || !head.is_object() || head.value("fettle_prior", 0) != 1 ||
      !head.contains("features") || !head["features"].is_array()) {
    return Error{ErrorCode::Malformed, "not a prior: its first line is another", {}};
  }
  std::vector<std::string> columns;
  for (const Json& column : head["features"]) {
    if (!column.is_string()) return Error{ErrorCode::Malformed, "a feature without a name", {}};
    columns.push_back(column);
  }
  auto booster = Booster::parse(text.substr(end + 1));
  if (!booster) return std::move(booster).error().in("reading a prior");
  Prior prior(std::move(*booster), std::move(columns), head.value("origin", ""));
  if (auto bound = prior.bind(feature_names); !bound) return std::move(bound).error();
  return prior;
}

Result<std::string> Prior::text() const {
  const auto model = booster_.text();
  if (!model) return model.error();
  const Json head = {{"fettle_prior", 1}, {"origin", origin_}, {"features", columns_}};
  return head.dump() + "\n" + *model;
}

void Prior::correct(std::vector<float>& features) const {
  std::vector<float>* const one[] = {&features};
  correct(one);
}

void Prior::correct(std::span<std::vector<float>* const> programs) const {
  if (programs.empty()) return;
  Table table{columns_.size(), {}};
  for (const std::vector<float>* features : programs) {
    for (const std::size_t place : places_) table.values.push_back(features->at(place));
  }
  const std::vector<float> wrong = booster_.predict(table);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    (*programs[i])[estimate_] += wrong[i] / std::numbers::ln2_v<float>;
  }
}

}  // namespace fettle::cost
