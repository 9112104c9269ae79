// The table of sketches (sketches.h).
#include "host/space/sketches/sketches.h"

#include "host/space/sketches/cpu_tiled.h"

namespace fettle::space {

Result<SearchSpace> make_space(const Workload& workload, const Target& target) {
  if (target.backend != "cpu_llvm") {
    return Error{ErrorCode::Unsupported,
                 "no sketch of " + workload.op() + " for back end " + target.backend};
  }
  return SearchSpace({cpu_tiled_sketch(make_dag(workload), target)});
}

Result<Schedule> schedule_for(const Workload& workload, const Target& target,
                              const Configuration& configuration) {
  auto space = make_space(workload, target);
  if (!space) return std::move(space).error();
  const auto& sketches = space->sketches();
  bool inside = configuration.sketch < sketches.size() &&
                configuration.choice.size() == sketches[configuration.sketch].knobs.size();
  for (std::size_t k = 0; inside && k < configuration.choice.size(); ++k) {
    inside = configuration.choice[k] < sketches[configuration.sketch].knobs[k].options.size();
  }
  if (!inside) {
    return Error{ErrorCode::InvalidArgument,
                 "the configuration is no point of the space of " + workload.title()};
  }
  return cpu_tiled_schedule(make_dag(workload), target, *space, configuration);
}

}  // namespace fettle::space
