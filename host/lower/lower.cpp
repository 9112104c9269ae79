// Running a back end's passes (lower.h).
#include "host/lower/lower.h"

#include "host/lower/bounds.h"
#include "host/lower/build_loops.h"

namespace fettle::lower {
namespace {

// [function]; timed_only: not what only prepare launches run.
std::vector<bool> functions_to_lower(const ir::Module& module, bool timed_only) {
  std::vector<bool> wanted(module.functions.size(), true);
  if (!timed_only) return wanted;
  for (const ir::Launch& launch : module.launches)
    wanted[static_cast<std::size_t>(launch.function)] = !launch.prepare;
  return wanted;
}

}  // namespace

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
  const std::vector<bool> wanted = functions_to_lower(*module, last != nullptr);
  for (const Pass& pass : how.passes) {
    for (std::size_t i = 0; i < module->functions.size(); ++i) {
      if (!wanted[i]) continue;
      ir::Function& function = module->functions[i];
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
