// fettle build-worker: the child process that compiles candidates. Started by the
// host itself, hence hidden.
#include <memory>

#include "host/app/commands.h"
#include "host/backend/backend.h"
#include "host/fleet/build_worker.h"
#include "host/space/workload.h"
#include "schemas/wire/codec.h"

namespace fettle::app {
namespace {

// Candidates of one task mostly follow one another: it is opened once, not per candidate.
class OpenTask {
 public:
  Result<wire::BuildOutputT> build(const wire::BuildRequestT& request) {
    if (!task_ || workload_ != request.workload || target_ != request.target) {
      task_.reset();
      auto opened = open(request);
      if (!opened) return std::move(opened).error();
      task_ = std::move(*opened);
      workload_ = request.workload;
      target_ = request.target;
    }
    const auto configuration = task_->space().parse(request.configuration);
    if (!configuration) return configuration.error();
    return task_->build(*configuration);
  }

 private:
  static Result<std::unique_ptr<const backend::Task>> open(const wire::BuildRequestT& request) {
    auto workload = space::Workload::parse(request.workload);
    if (!workload) return workload.error();
    auto target = space::Target::parse(request.target);
    if (!target) return target.error();
    return backend::open_task(*workload, *target);
  }

  std::string workload_, target_;
  std::unique_ptr<const backend::Task> task_;
};

}  // namespace

void add_build_worker_command(CLI::App& app, int& status) {
  auto* worker =
      app.add_subcommand("build-worker", "Compiles candidates; started by fettle itself");
  worker->group("");
  worker->callback([&status] {
    OpenTask task;
    status = fleet::run_build_worker([&task](const wire::BuildRequestT& request) {
      wire::BuildResultT result;
      auto built = task.build(request);
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
