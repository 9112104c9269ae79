// fettle build-worker: compiles candidates of a broker's sessions. Without --broker it is one of
// the processes that do it, which fettle starts by itself and speaks to through its standard input.
#include <unistd.h>
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "host/app/build_version.h"
#include "host/app/commands.h"
#include "host/app/connection.h"
#include "host/app/cores.h"
#include "host/app/interrupt.h"
#include "host/app/message.h"
#include "host/backend/backend.h"
#include "host/fleet/build_peer.h"
#include "host/fleet/build_worker.h"
#include "host/space/workload.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/limits.h"

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

int build_for_the_host() {
  OpenTask task;
  return fleet::run_build_worker([&task](const wire::BuildRequestT& request) {
    wire::BuildResultT result;
    auto built = task.build(request);
    if (built) {
      result.body.Set(std::move(*built));
    } else {
      result.body.Set(make_failure(wire::Stage::Build, std::move(built.error())));
    }
    return result;
  });
}

struct BuildWorkerCommand {
  std::string broker, broker_key, key = "builder", name;
  std::uint32_t builders = 0;  // 0: one for each core
};

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? name : "build-worker";
}

int build_for_a_broker(const BuildWorkerCommand& command) {
  auto address = broker_address(command.broker, command.broker_key, command.key);
  if (!address) return fail(address.error());
  auto version = build_version();
  if (!version) return fail(version.error());
  Interrupt interrupt;
  fleet::BuildPeerOptions options;
  options.broker = std::move(*address);
  options.plan.version = std::move(*version);
  options.plan.name = command.name.empty() ? host_name() : command.name;
  options.pool.workers = command.builders != 0
                             ? command.builders
                             : std::min<std::size_t>(usable_cores().size(), limits::kDevices);
  options.stop = &interrupt;
  options.log = [](const std::string& line) { note(line); };
  const auto done = fleet::run_build_peer(std::move(options));
  return done ? kFine : fail(done.error());
}

}  // namespace

void add_build_worker_command(CLI::App& app, int& status) {
  auto* worker = app.add_subcommand(
      "build-worker", "Compiles candidates for the sessions of a broker, until it is stopped");
  auto command = std::make_shared<BuildWorkerCommand>();
  worker->add_option("--broker", command->broker, "tcp://HOST:PORT of a `fettle broker`");
  worker->add_option("--broker-key", command->broker_key,
                     "The broker's public key (default: of this account's own broker)");
  worker
      ->add_option(
          "--key", command->key,
          "The key pair of this account to be known by (`fettle keys list`); made if there "
          "is none. Any number of workers may share one")
      ->capture_default_str();
  worker->add_option("--name", command->name, "For people (default: this machine's name)");
  worker
      ->add_option("--builders", command->builders,
                   "Compiler processes; 0: one for each core. For more start another worker")
      ->check(CLI::Range(std::size_t{0}, limits::kDevices))
      ->capture_default_str();
  worker->footer(
      "The broker lets a worker in by `fettle keys allow NAME KEY --role builder`. A worker builds "
      "for sessions of the very same fettle, LLVM and ptxas only.");
  worker->callback([command, worker, &status] {
    if (!command->broker.empty()) {
      status = build_for_a_broker(*command);
      return;
    }
    // The processes that compile are started like this.
    if (worker->count_all() > 1 || ::isatty(STDIN_FILENO)) throw CLI::RequiredError("--broker");
    status = build_for_the_host();
  });
}

}  // namespace fettle::app
