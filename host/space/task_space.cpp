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
  return entry.row->schedule(*entry.alternative, target_, space_, configuration);
}

double TaskSpace::error_growth(const Configuration& configuration) const {
  if (configuration.sketch >= entries_.size()) return 1;
  return entries_[configuration.sketch].alternative->error_growth;
}

}  // namespace fettle::space
