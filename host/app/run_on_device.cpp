// Networks on devices (run_on_device.h).
#include "host/app/run_on_device.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "host/app/connection.h"
#include "host/app/interrupt.h"
#include "host/app/message.h"
#include "host/app/record_database.h"
#include "host/network/board_run.h"
#include "host/records/database.h"
#include "host/space/target.h"
#include "host/tune/calibrate.h"
#include "runtime/network/machine_check.h"
#include "runtime/network/mapped_file.h"
#include "runtime/network/network_memory.h"
#include "schemas/network/network_file.h"
#include "schemas/wire/clock_domain.h"
#include "schemas/wire/limits.h"

namespace fettle::app {
namespace {

constexpr std::uint32_t kRuns = 30;
// Of all runs together: of those that a user asked for, whatever an agent allows.
constexpr std::uint32_t kTimeoutMs = 600'000;

Result<std::uint32_t> threads_for(const wire::NetworkT& network, std::uint32_t wanted) {
  const auto target = space::Target::parse(network.target);
  if (!target) return target.error();
  const std::uint32_t room = network.program->max_threads;
  if (room > 0 && wanted > room) {
    return Error{ErrorCode::InvalidArgument,
                 std::to_string(wanted) + " threads wanted, the network has room for " +
                     std::to_string(room) + ": `fettle build --threads` gives it more"};
  }
  return wanted > 0 ? wanted : static_cast<std::uint32_t>(std::max(target->threads(), 1));
}

// Each with room for one input.
std::vector<Bytes> room_for_inputs(const wire::NetworkT& network) {
  std::vector<Bytes> inputs;
  for (const auto& input : network.inputs) {
    inputs.emplace_back(network.program->buffers[input->buffer]->bytes);
  }
  return inputs;
}

run::Timing timing_of(const network::BoardRun& run) {
  run::Timing timing;
  const double ms = run.nanoseconds_per_tick * 1e-6;
  if (ms <= 0) timing.unit = clock_facts(run.measurement.clock).unit;
  for (const double ticks : run.ticks) timing.runs.push_back(ms > 0 ? ticks * ms : ticks);
  std::sort(timing.runs.begin(), timing.runs.end());
  timing.disturbed = run.measurement.disturbed;
  timing.borrowed = run.measurement.borrowed;
  if (!run.measurement.before || !run.measurement.after) return timing;
  const wire::ConditionsT &before = *run.measurement.before, &after = *run.measurement.after;
  timing.governor = after.governor;
  timing.cpu_khz = after.cpu_khz;
  timing.temperature_millidegrees = after.temperature_millidegrees;
  timing.involuntary_switches = after.involuntary_switches - before.involuntary_switches;
  timing.steal_ticks = after.steal_ticks - before.steal_ticks;
  return timing;
}

std::vector<run::LayerTime> layer_times(const network::BoardRun& run, const std::string& unit) {
  std::vector<run::LayerTime> times;
  const double ms = run.nanoseconds_per_tick * 1e-6;
  for (const double ticks : run.layer_ticks) times.push_back({ms > 0 ? ticks * ms : ticks, unit});
  return times;
}

// What its agent holds: all of it beside the code, as nothing stays in the file there.
runtime::NetworkMemoryFigures memory_of(const wire::NetworkT& network, ByteView file) {
  const auto need = runtime::NetworkMemory::need(*network.program, blobs_of(network, file));
  runtime::NetworkMemoryFigures memory;
  memory.file = file.size();
  memory.own = need.own_bytes + need.file_bytes;
  for (const auto& image : network.program->images) {
    memory.code += image->cpu ? image->cpu->memory_bytes : image->bytes.size();
  }
  memory.arena = network.arena_bytes;
  memory.live = network.live_bytes;
  return memory;
}

// As it was calibrated; 0 where it never was.
Result<double> peak_gflops(const std::string& db, const tune::Runner& runner,
                           std::uint32_t threads) {
  auto database = open_to_read(db);
  if (!database) return std::move(database).error();
  const wire::DeviceInfoT& device = runner.device();
  const auto known =
      database->calibration(device.key, runner.board().id, device.index, static_cast<int>(threads));
  if (!known && known.error().code != ErrorCode::NotFound) return known.error();
  if (!known) {
    note(records::shown_database(db) + " has no calibration of " + device.key + " with " +
         std::to_string(threads) + " threads: no % of peak");
    return 0.0;
  }
  return tune::roofline_of(known->figures, static_cast<int>(threads)).peak_gflops();
}

// Than were asked for.
std::string why_fewer(const network::BoardRun& run, const network::BoardRunOptions& how) {
  const std::string runs = fmt::format("{} of {} runs were timed: ", run.ticks.size(), how.runs);
  const wire::MeasurementT& measured = run.measurement;
  if (!clock_facts(measured.clock).wall_time && run.ticks.size() <= 2) {
    return runs + "the device counts " + clock_facts(measured.clock).unit +
           ", and more runs would count the same";
  }
  return runs + fmt::format("{} more were disturbed, and all together may take {} s",
                            measured.disturbed, how.timeout_ms / 1000);
}

// Fills the report with what the board says.
Result<void> time_there(const run::RunOptions& options, tune::Runner& runner, Interrupt& interrupt,
                        const wire::NetworkT& network, const BlobLookup& blobs,
                        const std::vector<Bytes>& inputs, run::Report& report) {
  network::BoardRunOptions how;
  how.runs = options.runs > 0 ? options.runs : kRuns;
  how.timeout_ms = options.runs > 0 ? limits::kTimeoutMs : kTimeoutMs;
  how.threads = report.threads;
  how.layers = options.profile;
  const auto run = network::run_on_board(runner, interrupt, network, blobs, inputs, how);
  if (!run) return run.error();
  report.load_ms = static_cast<double>(run->load_ns) * 1e-6;
  report.timing = timing_of(*run);
  if (report.timing.runs.size() < how.runs) note(why_fewer(*run, how));
  if (!options.profile) return {};
  report.layers = run::layers_of(network, layer_times(*run, report.timing.unit));
  if (report.layers.empty()) note("the device does not tell what each launch takes: no profile");
  return {};
}

}  // namespace

Result<run::Report> run_on_device(const run::RunOptions& options, const DeviceOfRun& device) {
  const auto file = runtime::MappedFile::open(options.network);
  if (!file) return file.error();
  const auto network = read_network_file(file->bytes());
  if (!network) return Error(network.error()).in(options.network);
  for (const auto& layer : network->layers) {
    if (layer->target.empty()) continue;
    return Error{ErrorCode::Unsupported,
                 options.network +
                     " is for a CPU with an accelerator beside it, and an agent's "
                     "devices are one or the other: run it without --device"};
  }
  if (options.check) {
    if (auto whole = check_blobs(*network, file->bytes()); !whole) return whole.error();
  }
  run::Report report;
  const auto threads = threads_for(*network, options.loading.threads);
  if (!threads) return threads.error();
  std::vector<Bytes> inputs = room_for_inputs(*network);
  const std::vector<std::span<std::uint8_t>> rooms(inputs.begin(), inputs.end());
  if (auto filled = run::fill_inputs(*network, options, rooms); !filled) return filled.error();

  if (options.runs > limits::kSamples) {
    return Error{ErrorCode::InvalidArgument, fmt::format("--runs {}: a device times {} at most",
                                                         options.runs, limits::kSamples)};
  }
  Interrupt interrupt;
  ConnectionOptions where;
  where.broker = device.broker;
  where.broker_key = device.broker_key;
  where.device_key = device.key;
  where.name = "run";
  where.local_threads = static_cast<int>(*threads);
  where.stop = &interrupt;
  auto connection = Connection::open(where);
  if (!connection) return std::move(connection).error();
  tune::Runner& runner = connection->runner();
  const wire::DeviceKind kind = runner.device().kind;
  auto runs = runtime::check_kinds(*network, std::span(&kind, 1),
                                   device.key + " is of kind " + wire::EnumNameDeviceKind(kind));
  if (!runs) return std::move(runs).error();
  if (kind == wire::DeviceKind::Cpu && runner.device().cpu) {
    auto fits = runtime::check_cpu(*network, *runner.device().cpu);
    if (!fits) return std::move(fits).error().in(device.key);
  }
  report.network = network->name;
  report.device = runner.device().key + " (" + runner.device().name + ")";
  report.emulated = runner.device().emulated;
  report.threads = *threads;
  report.memory = memory_of(*network, file->bytes());
  if (!device.db.empty()) {
    auto peak = peak_gflops(device.db, runner, *threads);
    if (!peak) return std::move(peak).error();
    report.peak_gflops = *peak;
  }
  const BlobLookup blobs = blobs_of(*network, file->bytes());
  if (!options.output.empty() || options.top > 0 || !options.labels.empty()) {
    const auto outputs =
        network::outputs_on_board(runner, interrupt, *network, blobs, inputs, *threads);
    if (!outputs) return outputs.error();
    auto classes = run::deliver_outputs(
        *network, std::vector<ByteView>(outputs->begin(), outputs->end()), options);
    if (!classes) return std::move(classes).error();
    report.classes = std::move(*classes);
  }
  auto timed = time_there(options, runner, interrupt, *network, blobs, inputs, report);
  if (!timed) return std::move(timed).error();
  return report;
}

}  // namespace fettle::app
