// What AutoTVM's ranking model sees of a configuration: one kind of features each.
#pragma once

#include <memory>
#include <vector>

#include "host/tune/searcher.h"

namespace fettle::tune {

// Used by one thread at a time.
class XgbFeatures {
 public:
  virtual ~XgbFeatures() = default;
  // Of what was tried, whatever it costs. Empty: it makes no program.
  virtual std::vector<float> of_trial(const space::Configuration& configuration) = 0;
  // Of what annealing asks about; valid until the next call. Null: it makes no program, or is
  // one more than a plan may ask about.
  virtual const std::vector<float>* of_candidate(const space::Configuration& configuration) = 0;
  virtual void begin_plan() {}
  virtual SearchStatistics statistics() const { return {}; }
};

// The numbers behind the choices; no bound. The space must outlive them.
std::unique_ptr<XgbFeatures> make_knob_features(const space::SearchSpace& space);

// Of the lowered loops. A plan lowers at most kItervarLowerings configurations that it has not seen
// before; those of earlier plans are remembered, until there are kItervarRemembered.
inline constexpr std::size_t kItervarLowerings = 4096, kItervarRemembered = 8192;
std::unique_ptr<XgbFeatures> make_itervar_features(FeatureFunction lower);

}  // namespace fettle::tune
