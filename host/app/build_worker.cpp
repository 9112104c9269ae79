// fettle build-worker: the child process that compiles candidates. Started by the
// host itself, hence hidden.
#include <optional>

#include "host/app/commands.h"
#include "host/backend/backend.h"
#include "host/fleet/build_worker.h"
#include "schemas/wire/codec.h"

namespace fettle::app {
namespace {

// What a task's candidates share: parsed once, not per candidate.
struct TaskContext {
  std::string backend_name, workload_text, target_text;
  const backend::Backend* backend;
  space::Workload workload;
  space::Target target;
  space::SearchSpace space;
};

Result<TaskContext> context_of(const wire::BuildRequestT& request) {
  const backend::Backend* backend = backend::find_backend(request.backend);
  if (!backend) return Error{ErrorCode::Unsupported, "no back end \"" + request.backend + "\"", {}};
  auto workload = space::Workload::parse(request.workload);
  if (!workload) return workload.error();
  auto target = space::Target::parse(request.target);
  if (!target) return target.error();
  auto space = backend->space(*workload, *target);
  if (!space) return space.error();
  return TaskContext{request.backend,      request.workload,   request.target,   backend,
                     std::move(*workload), std::move(*target), std::move(*space)};
}

Result<wire::BuildOutputT> build(const wire::BuildRequestT& request) {
  static std::optional<TaskContext> context;
  if (!context || context->backend_name != request.backend ||
      context->workload_text != request.workload || context->target_text != request.target) {
    context.reset();
    auto made = context_of(request);
    if (!made) return made.error();
    context.emplace(std::move(*made));
  }
  const auto configuration = context->space.parse(request.configuration);
  if (!configuration) return configuration.error();
  return context->backend->build(context->workload, context->target, *configuration);
}

}  // namespace

void add_build_worker_command(CLI::App& app, int& status) {
  auto* worker =
      app.add_subcommand("build-worker", "Compiles candidates; started by fettle itself");
  worker->group("");
  worker->callback([&status] {
    status = fleet::run_build_worker([](const wire::BuildRequestT& request) {
      wire::BuildResultT result;
      auto built = build(request);
      if (built) {
        result.body.Set(std::move(*built));
      } else {
        result.body.Set(make_failure(wire::Stage::Build, std::move(built.error())));
      }
      return result;
    });
  });
}

}  // namespace fettle::app
