// Running a back end's passes (lower.h).
#include "host/lower/lower.h"

#include "host/lower/bounds.h"
#include "host/lower/build_loops.h"

namespace fettle::lower {

std::vector<std::string> pass_names(std::span<const Pass> passes) {
  std::vector<std::string> names{"build_loops"};
  for (const Pass& pass : passes) names.push_back(pass.name);
  return names;
}

Result<ir::Module> lower_schedule(const space::Schedule& schedule, const Lowering& how,
                                  const DumpHook& dump, const char* last) {
  auto bounds = infer_bounds(schedule);
  if (!bounds) return std::move(bounds).error().in("inferring bounds");
  auto module = build_loops(schedule, *bounds, how.threads);
  if (!module) return std::move(module).error().in("building loops");
  if (dump) dump("build_loops", *module);
  for (const Pass& pass : how.passes) {
    for (ir::Function& function : module->functions) {
      auto lowered = pass.run(std::move(function));
      if (!lowered) return std::move(lowered).error().in(std::string("pass ") + pass.name);
      function = std::move(*lowered);
    }
    if (dump) dump(pass.name, *module);
    if (last && std::string_view(last) == pass.name) break;
  }
  return module;
}

Result<ir::Module> lower_configuration(const space::TaskSpace& task,
                                       const space::Configuration& configuration,
                                       const Lowering& how, const DumpHook& dump,
                                       const char* last) {
  auto schedule = task.schedule(configuration);
  if (!schedule) return std::move(schedule).error();
  auto module = lower_schedule(*schedule, how, dump, last);
  if (!module) {
    Error error = std::move(module).error();
    if (error.code == ErrorCode::InvalidArgument) error.code = ErrorCode::BuildError;
    return std::move(error).in("lowering " + task.space().to_json(configuration));
  }
  return module;
}

}  // namespace fettle::lower
