// Prior: by how much the estimated times of programs are wrong, learned once from the
// trials of many tasks and shipped with fettle. It corrects the estimate among a
// program's features, so that a search of a new task begins with more than a bound.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/cost/booster.h"
#include "host/cost/experience.h"
#include "host/space/target.h"
#include "host/space/workload.h"

namespace fettle::cost {

// Never changed once made: correct may be called from several threads.
class Prior {
 public:
  // `tasks`: trials of each, with features named `feature_names`; tasks with fewer than
  // two measured times are left out. `origin`: for people, what it was trained on.
  // InvalidArgument: nothing to learn from, or features without an estimate.
  static Result<Prior> train(const std::vector<std::string>& feature_names,
                             const std::map<std::string, std::vector<Sample>>& tasks,
                             std::string origin);

  // What text() wrote, for features of these names. Malformed; NotFound: they lack one
  // that it was trained on.
  static Result<Prior> parse(std::string_view text, const std::vector<std::string>& feature_names);
  // One line of JSON, then XGBoost's own form of the model.
  Result<std::string> text() const;
  const std::string& origin() const { return origin_; }

  // The estimate among a program's features becomes what the prior expects; only
  // differences between programs of one task count. As long as the names it was made for.
  void correct(std::vector<float>& features) const;
  // Of many programs at once, which costs hardly more than one: the same numbers.
  void correct(std::span<std::vector<float>* const> programs) const;

 private:
  Prior(Booster booster, std::vector<std::string> columns, std::string origin)
      : booster_(std::move(booster)), columns_(std::move(columns)), origin_(std::move(origin)) {}
  Result<void> bind(const std::vector<std::string>& feature_names);

  Booster booster_;
  std::vector<std::string> columns_;  // of the model's table
  std::string origin_;
  std::vector<std::size_t> places_;  // of the columns among a program's features
  std::size_t estimate_ = 0;
};

// The one that is shipped for tasks of this element type on CPUs of this architecture and such
// vectors; null where none is, or where the back end's features lack some that it rests on.
std::shared_ptr<const Prior> shipped_prior(const space::Workload& workload,
                                           const space::Target& target,
                                           const std::vector<std::string>& feature_names);

}  // namespace fettle::cost
