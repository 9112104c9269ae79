// The list of lowering passes (lower.h).
#include "host/lower/lower.h"

#include "host/ir/simplify.h"
#include "host/lower/bounds.h"
#include "host/lower/build_loops.h"
#include "host/lower/drop_implied.h"
#include "host/lower/drop_zero_products.h"
#include "host/lower/extract_parallel.h"
#include "host/lower/features.h"
#include "host/lower/flatten_storage.h"
#include "host/lower/fuse_multiply_add.h"
#include "host/lower/split_border.h"
#include "host/lower/split_predicates.h"
#include "host/lower/unroll.h"
#include "host/lower/vectorize.h"

namespace fettle::lower {

namespace {

struct Pass {
  const char* name;
  Result<ir::Function> (*run)(ir::Function function);
};

// A pass over a function's body.
template <auto pass>
Result<ir::Function> on_body(ir::Function function) {
  Result<ir::Stmt> body = pass(function.body);
  if (!body) return std::move(body).error();
  function.body = std::move(*body);
  return function;
}

// Inlining and packing are steps of the schedule and done before the first pass;
// build_loops, which makes the module out of it, comes first.
const Pass kPasses[] = {
    {"split_border", on_body<split_border>},
    {"drop_implied", on_body<drop_implied>},
    {"fuse_multiply_add", on_body<fuse_multiply_add>},
    {"flatten_storage", on_body<flatten_storage>},
    {"vectorize", on_body<vectorize>},
    {"split_predicates", on_body<split_predicates>},
    {"unroll", on_body<[](const ir::Stmt& body) { return unroll(body); }>},
    {"simplify", on_body<[](const ir::Stmt& body) { return ir::simplify(body); }>},
    {"drop_zero_products", on_body<drop_zero_products>},
    {"extract_parallel", extract_parallel},
};

}  // namespace

std::vector<std::string> pass_names() {
  std::vector<std::string> names{"build_loops"};
  for (const Pass& pass : kPasses) names.push_back(pass.name);
  return names;
}

namespace {

// `last`: the name of the pass to stop after; null: all run.
Result<ir::Module> run_passes(const space::Schedule& schedule, const space::Target& target,
                              const DumpHook& dump, const char* last) {
  auto bounds = infer_bounds(schedule);
  if (!bounds) return std::move(bounds).error().in("inferring bounds");
  auto module = build_loops(schedule, *bounds, target);
  if (!module) return std::move(module).error().in("building loops");
  if (dump) dump("build_loops", *module);
  for (const Pass& pass : kPasses) {
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

Result<ir::Module> lower_until(const space::TaskSpace& task,
                               const space::Configuration& configuration, const DumpHook& dump,
                               const char* last) {
  auto schedule = task.schedule(configuration);
  if (!schedule) return std::move(schedule).error();
  auto module = run_passes(*schedule, task.target(), dump, last);
  if (!module) {
    Error error = std::move(module).error();
    if (error.code == ErrorCode::InvalidArgument) error.code = ErrorCode::BuildError;
    return std::move(error).in("lowering " + task.space().to_json(configuration));
  }
  return module;
}

}  // namespace

Result<ir::Module> lower_schedule(const space::Schedule& schedule, const space::Target& target,
                                  const DumpHook& dump) {
  return run_passes(schedule, target, dump, nullptr);
}

Result<ir::Module> lower_configuration(const space::TaskSpace& task,
                                       const space::Configuration& configuration,
                                       const DumpHook& dump) {
  return lower_until(task, configuration, dump, nullptr);
}

Result<ir::Module> lower_loops(const space::TaskSpace& task,
                               const space::Configuration& configuration) {
  return lower_until(task, configuration, nullptr, kFeaturesAfter);
}

}  // namespace fettle::lower
