// Transfer: what earlier sessions on this kind of device taught, for the cost model.
#pragma once

#include <vector>

#include "host/backend/backend.h"
#include "host/cost/experience.h"
#include "host/records/database.h"
#include "host/space/workload.h"

namespace fettle::app {

// One earlier trial: what to lower, and what was measured.
struct Lesson {
  std::string workload, configuration;
  std::string task;  // its name in the experience
  double nanoseconds = 0;
  bool censored = false;  // at least so long
};

// Trials that gave a time, on any device of this kind: same back end, CPU, features and
// number of threads, same clock, emulated as `device` is or not, with `cold_weights` or warm ones.
// The newest of each workload, evenly over the workloads; where they are too many for a few trials
// each, those that are most like `tasks`. Of the session's own `tasks` only where they are
// `resumed`, under their own names: what one of them showed is for the others.
Result<std::vector<Lesson>> earlier_lessons(const records::Database& database,
                                            const wire::DeviceInfoT& device,
                                            const space::Target& target,
                                            const std::vector<space::Task>& tasks, bool resumed,
                                            bool cold_weights);

// Lowers each of them for its features, whose estimates the shipped prior corrects
// `with_prior`. About a millisecond each.
void learn_lessons(const std::vector<Lesson>& lessons, const backend::Backend& backend,
                   const space::Target& target, bool with_prior, cost::Experience& experience);

}  // namespace fettle::app
