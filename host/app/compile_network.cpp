// Compiling networks for commands (compile_network.h).
#include "host/app/compile_network.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <stop_token>
#include <thread>

#include <fmt/format.h>

#include "host/app/interrupt.h"
#include "host/app/message.h"
#include "host/app/text.h"
#include "host/model/pieces/onnx_tasks.h"
#include "host/network/board_run.h"
#include "host/network/build_network.h"
#include "host/space/profile.h"

namespace fettle::app {
namespace {

bool shows_progress(const CompileOptions& options) {
  return !options.quiet && is_redrawable(STDERR_FILENO);
}

// Of each piece the fastest of its alternatives, timed on the device.
Result<std::vector<network::BuiltPiece>> chosen_in_place(
    const CompileOptions& options, const model::Graph& graph, const model::Bindings& bindings,
    const network::Alternatives& alternatives, const NetworkTarget& target, Interrupt& interrupt,
    const std::stop_token& stop) {
  auto connection = Connection::open(connection_options(
      options.target, target.device_key, target.schedules.target().threads(), interrupt));
  if (!connection) return std::move(connection).error();
  network::BoardRunOptions how;
  how.threads = static_cast<std::uint32_t>(target.schedules.target().threads());
  how.layers = true;
  std::size_t round = 0;
  return network::fastest_in_place(
      graph, bindings, alternatives, target.schedules.target(),
      [&](const network::LinkedNetwork& linked) -> Result<std::vector<double>> {
        if (shows_progress(options)) {
          fmt::print(stderr, "\rtiming in place {}/{} ", ++round, options.in_place + 1);
        }
        auto run = network::run_on_board(connection->runner(), interrupt, linked.network,
                                         network::blobs_of(linked), {}, how);
        if (!run) return std::move(run).error();
        if (run->nanoseconds_per_tick <= 0 || run->layer_ticks.empty()) {
          return Error{ErrorCode::Unsupported,
                       "--in-place: " + target.device_key + " tells no time of each launch"};
        }
        for (double& ticks : run->layer_ticks) ticks *= run->nanoseconds_per_tick;
        return std::move(run->layer_ticks);
      },
      stop);
}

Result<network::LinkedNetwork> compiled(const CompileOptions& options, const model::Graph& graph,
                                        const model::Bindings& bindings,
                                        const NetworkTarget& target,
                                        const std::optional<network::Schedules>& accelerator,
                                        Interrupt& interrupt) {
  const bool show = shows_progress(options);
  std::stop_source stop;
  const StopOnInterrupt watch(interrupt, stop);
  const auto progress = [&](const network::BuildProgress& made) {
    if (show) fmt::print(stderr, "\rcompiling {}/{} ", made.done, made.all);
  };
  auto alternatives =
      network::compile_pieces(bindings, {target.schedules, accelerator ? &*accelerator : nullptr},
                              std::max(options.in_place, 1u), std::thread::hardware_concurrency(),
                              stop.get_token(), progress);
  if (show) fmt::print(stderr, "\r\033[K");
  if (!alternatives) return std::move(alternatives).error();
  auto chosen = Result<std::vector<network::BuiltPiece>>(network::first_of(*alternatives));
  if (options.in_place > 1) {
    chosen = chosen_in_place(options, graph, bindings, *alternatives, target, interrupt,
                             stop.get_token());
    if (show) fmt::print(stderr, "\r\033[K");
    if (!chosen) return std::move(chosen).error();
  }
  return network::link(graph, bindings, *chosen, target.schedules.target(), stop.get_token());
}

}  // namespace

Result<CompiledNetwork> compile_network(const CompileOptions& options, TargetCheck check) {
  if (!model::is_onnx_file(options.source.what)) {
    return Error{ErrorCode::InvalidArgument,
                 options.source.what + " is no ONNX file (.onnx); `fettle zoo` writes some"};
  }
  if (!options.target.broker.empty() && !options.target.db.empty() && options.in_place == 0) {
    return Error{ErrorCode::InvalidArgument,
                 "--broker is for a device that is asked: without --db, or with --in-place"};
  }
  Interrupt interrupt;
  std::optional<network::Schedules> accelerator;
  if (!options.target.accelerator.empty()) {
    auto schedules = accelerator_schedules(options.target, interrupt);
    if (!schedules) return std::move(schedules).error();
    accelerator.emplace(std::move(*schedules));
  }
  auto graph =
      model::load_onnx_graph(options.source.what, options.source.onnx, accelerator.has_value());
  if (!graph) return std::move(graph).error();
  auto bindings = model::bind(
      *graph,
      model::pieces_of(*graph, accelerator ? accelerates_of(accelerator->target()) : nullptr));
  if (!bindings) {
    return Error{bindings.error().code, options.source.what + ": " + bindings.error().message};
  }
  auto target =
      network_target(options.target, model::tasks_of(options.source.what, *bindings), interrupt);
  if (!target) return std::move(target).error();
  if (check != nullptr) {
    if (auto fits = check(target->schedules.target()); !fits) return std::move(fits).error();
  }
  auto linked = compiled(options, *graph, *bindings, *target, accelerator, interrupt);
  if (!linked) return std::move(linked).error();
  return CompiledNetwork{std::move(*linked), target->device_key};
}

void add_compile_options(CLI::App& app, CompileOptions& options) {
  auto* db = app.add_option(
      "--db", options.target.db,
      "Records of `fettle tune`, a file or postgresql://…; without it nothing is tuned");
  auto* device = app.add_option(
      "--device", options.target.device,
      "Device key, as `fettle tune --device` has it: whose records; without --db a device "
      "that is there (default: local, this machine's CPU)");
  auto* broker =
      app.add_option("--broker", options.target.broker,
                     "tcp://HOST:PORT of the `fettle broker` that knows the device; with --db only "
                     "--in-place asks it");
  app.add_option("--broker-key", options.target.broker_key,
                 "Its public key (default: of this account's own broker)")
      ->needs(broker);
  std::vector<std::string> profiles;
  for (const space::Profile& profile : space::profiles()) profiles.push_back(profile.name);
  app.add_option("--profile", options.target.profile,
                 "Without --db: the target profile of a board that need not be there")
      ->check(CLI::IsMember(profiles))
      ->excludes(db, device, broker);
  app.add_option("--threads", options.target.threads,
                 "Threads that it is compiled for (default: as tuned; 1 without records)")
      ->check(CLI::Range(1, 1024));
  auto* in_place =
      app.add_option("--in-place", options.in_place,
                     "Times the N best schedules of each layer within the network, on the "
                     "device, and takes the fastest (default: the best record's, untimed)")
          ->type_name("N")
          ->check(CLI::Range(2, 64));
  app.get_option("--profile")->excludes(in_place);
  app.add_flag("--quiet", options.quiet, "No progress");
}

}  // namespace fettle::app
