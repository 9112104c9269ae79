// TaskSpace (task_space.h).
#include "host/space/task_space.h"

namespace fettle::space {

TaskSpace::TaskSpace(ComputeDag dag, Target target, std::vector<Entry> entries,
                     std::vector<Sketch> sketches)
    : dag_(std::move(dag)),
      target_(std::move(target)),
      entries_(std::move(entries)),
      space_(std::move(sketches)) {}

Result<Schedule> TaskSpace::schedule(const Configuration& configuration) const {
  if (!space_.contains(configuration)) {
    return Error{ErrorCode::InvalidArgument, "the configuration is no point of the task's space"};
  }
  const Entry& entry = entries_[configuration.sketch];
  return entry.row->schedule(entry.begun, target_, space_, configuration);
}

double TaskSpace::error_growth(const Configuration& configuration) const {
  return configuration.sketch < entries_.size() ? entries_[configuration.sketch].row->error_growth()
                                                : 1;
}

}  // namespace fettle::space
