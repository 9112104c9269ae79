// TaskSpace: the search space of a compute DAG on a target and the schedules of its
// configurations. Opened once per task: what depends on the DAG and the target alone is made
// here, never per candidate.
#pragma once

#include <memory>
#include <vector>

#include "host/space/algorithms/alternatives.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"
#include "host/space/target.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// One kind of sketch: a row of a back end's table.
struct SketchRow {
  bool (*applies)(const Alternative& alternative, const Target& target);
  Sketch (*sketch)(const Alternative& alternative, const Target& target);
  // `configuration` is a point of `space`, of the sketch that this row made.
  Result<Schedule> (*schedule)(const Alternative& alternative, const Target& target,
                               const SearchSpace& space, const Configuration& configuration);
};

// Thread-safe once made.
class TaskSpace {
 public:
  // A sketch that applies, and the algorithm that it schedules.
  struct Entry {
    const SketchRow* row;
    std::shared_ptr<const Alternative> alternative;
  };
  // `sketches`: what the entries' rows made, in the same order; at least one.
  TaskSpace(ComputeDag dag, Target target, std::vector<Entry> entries,
            std::vector<Sketch> sketches);

  const ComputeDag& dag() const { return dag_; }
  const Target& target() const { return target_; }
  const SearchSpace& space() const { return space_; }

  // InvalidArgument: the configuration is no point of space(), or a step does not fit.
  Result<Schedule> schedule(const Configuration& configuration) const;

  // How much larger the rounding errors of this configuration's algorithm are than those that
  // tolerance_of() allows for, which are those of the plain sum: 1 or more. Multiplies the
  // absolute tolerance.
  double error_growth(const Configuration& configuration) const;

 private:
  ComputeDag dag_;
  Target target_;
  std::vector<Entry> entries_;
  SearchSpace space_;
};

}  // namespace fettle::space
