// TaskSpace (task_space.h).
#include "host/space/task_space.h"

namespace fettle::space {
namespace {

std::vector<Sketch> sketches_of(const std::vector<TaskSpace::Entry>& entries) {
  std::vector<Sketch> sketches;
  for (const TaskSpace::Entry& entry : entries) sketches.push_back(entry.sketch);
  return sketches;
}

}  // namespace

TaskSpace::TaskSpace(ComputeDag dag, std::vector<Entry> entries)
    : dag_(std::move(dag)), entries_(std::move(entries)), space_(sketches_of(entries_)) {}

Result<Schedule> TaskSpace::schedule(const Configuration& configuration) const {
  if (!space_.contains(configuration)) {
    return Error{ErrorCode::InvalidArgument, "the configuration is no point of the task's space"};
  }
  return entries_[configuration.sketch].schedule(space_, configuration);
}

double TaskSpace::error_growth(const Configuration& configuration) const {
  if (configuration.sketch >= entries_.size()) return 1;
  return entries_[configuration.sketch].error_growth;
}

}  // namespace fettle::space
