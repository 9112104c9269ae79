// TaskSpace: the search space of a compute DAG on a target and the schedules of its
// configurations. Opened once per task: what depends on the DAG and the target alone is made
// here, never per candidate.
#pragma once

#include <functional>
#include <vector>

#include "host/space/compute_dag.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// Thread-safe once made.
class TaskSpace {
 public:
  // One sketch of one algorithm.
  struct Entry {
    Sketch sketch;
    // `configuration` is a point of `space`, of this sketch.
    std::function<Result<Schedule>(const SearchSpace& space, const Configuration& configuration)>
        schedule;
    // How much larger the rounding errors of its algorithm are than those that tolerance_of()
    // allows for, which are those of the plain sum: 1 or more.
    double error_growth = 1;
  };
  // At least one entry.
  TaskSpace(ComputeDag dag, std::vector<Entry> entries);

  const ComputeDag& dag() const { return dag_; }
  const SearchSpace& space() const { return space_; }

  // InvalidArgument: the configuration is no point of space(), or a step does not fit.
  Result<Schedule> schedule(const Configuration& configuration) const;

  // Of the configuration's entry. Multiplies the absolute tolerance.
  double error_growth(const Configuration& configuration) const;

 private:
  ComputeDag dag_;
  std::vector<Entry> entries_;
  SearchSpace space_;
};

}  // namespace fettle::space
