// Transfer: what earlier sessions on this kind of device taught, for the cost model.
#pragma once

#include <vector>

#include "host/backend/backend.h"
#include "host/cost/experience.h"
#include "host/records/database.h"

namespace fettle::app {

// One earlier trial: what to lower, and what was measured.
struct Lesson {
  std::string workload, configuration;
  double nanoseconds = 0;
  bool censored = false;  // at least so long
};

// Trials that gave a time, on any board of this kind: same back end, CPU, features and
// number of threads. The newest of each workload, evenly over the workloads; none of
// `resumed` tasks, whose records reach their searchers anyway.
Result<std::vector<Lesson>> earlier_lessons(const records::Database& database,
                                            const space::Target& target,
                                            const std::vector<space::Task>& resumed);

// Lowers each of them for its features, whose estimates the shipped prior corrects
// `with_prior`. About a millisecond each.
void learn_lessons(const std::vector<Lesson>& lessons, const backend::Backend& backend,
                   const space::Target& target, bool with_prior, cost::Experience& experience);

}  // namespace fettle::app
