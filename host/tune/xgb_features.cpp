// The kinds of features (xgb_features.h).
#include "host/tune/xgb_features.h"

#include <cmath>
#include <unordered_map>

#include "host/cost/knob_features.h"
#include "host/tune/stopwatch.h"
#include "host/tune/unseen.h"

namespace fettle::tune {
namespace {

class KnobFeatures final : public XgbFeatures {
 public:
  explicit KnobFeatures(const space::SearchSpace& space) : space_(space) {}
  std::vector<float> of_trial(const space::Configuration& configuration) override {
    return cost::knob_features(space_, configuration);
  }
  const std::vector<float>* of_candidate(const space::Configuration& configuration) override {
    candidate_ = cost::knob_features(space_, configuration);
    return &candidate_;
  }

 private:
  const space::SearchSpace& space_;
  std::vector<float> candidate_;
};

class ItervarFeatures final : public XgbFeatures {
 public:
  explicit ItervarFeatures(FeatureFunction lower) : lower_(std::move(lower)) {}

  std::vector<float> of_trial(const space::Configuration& configuration) override {
    const auto known = seen_.find(configuration);
    return known != seen_.end() ? known->second : lowered(configuration);
  }

  const std::vector<float>* of_candidate(const space::Configuration& configuration) override {
    auto known = seen_.find(configuration);
    if (known == seen_.end()) {
      if (left_ == 0) return nullptr;
      --left_;
      known = seen_.emplace(configuration, lowered(configuration)).first;
    }
    return known->second.empty() ? nullptr : &known->second;
  }

  void begin_plan() override {
    left_ = kItervarLowerings;
    if (seen_.size() + left_ > kItervarRemembered) seen_.clear();
  }
  SearchStatistics statistics() const override { return statistics_; }

 private:
  // Without the columns behind the last loop, which are most of them.
  std::vector<float> lowered(const space::Configuration& configuration) {
    const Stopwatch lowering(statistics_.feature_seconds);
    ++statistics_.lowered;
    auto features = lower_(configuration);
    if (!features) {
      ++statistics_.unlowered;
      return {};
    }
    while (!features->empty() && std::isnan(features->back())) features->pop_back();
    features->shrink_to_fit();
    return std::move(*features);
  }

  FeatureFunction lower_;
  std::unordered_map<space::Configuration, std::vector<float>, ConfigurationHash> seen_;
  std::size_t left_ = 0;  // lowerings of the plan in hand
  SearchStatistics statistics_;
};

}  // namespace

std::unique_ptr<XgbFeatures> make_knob_features(const space::SearchSpace& space) {
  return std::make_unique<KnobFeatures>(space);
}

std::unique_ptr<XgbFeatures> make_itervar_features(FeatureFunction lower) {
  return std::make_unique<ItervarFeatures>(std::move(lower));
}

}  // namespace fettle::tune
