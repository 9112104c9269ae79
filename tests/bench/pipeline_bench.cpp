// The pipeline's figures (pipeline_bench.h).
#include "tests/bench/pipeline_bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "host/app/connection.h"
#include "host/app/cores.h"
#include "host/app/idle_runner.h"
#include "host/app/interrupt.h"
#include "host/backend/backend.h"
#include "host/fleet/build_pool.h"
#include "host/records/database.h"
#include "host/space/workload.h"
#include "host/tune/searchers.h"
#include "host/tune/tune.h"
#include "tests/bench/agent_process.h"
#include "tests/bench/near_time_searcher.h"
#include "tests/bench/pipeline_layers.h"
#include "tests/bench/timed_parts.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr unsigned kSizing = 12;    // trials that find how fast the layer runs here
constexpr unsigned kSettling = 24;  // trials that find kernels of about the wanted time
constexpr int kLayersTried = 4;     // until the kernels that are found take that time

// Records go into a real database: storing them is part of the loop's work.
class Store final : public tune::RecordSink {
 public:
  static Result<std::unique_ptr<Store>> make() {
    std::string pattern = (fs::temp_directory_path() / "fettle-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      return Error{ErrorCode::Io, "no temporary folder for the records", {}};
    Result<records::Database> database = records::Database::open(pattern + "/records.db");
    if (!database) return std::move(database).error();
    return std::unique_ptr<Store>(new Store(pattern, std::move(*database)));
  }
  ~Store() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Result<void> add(const records::TuningRecord& record) override {
    if (Result<std::int64_t> id = database_.insert(record); !id) return std::move(id).error();
    return {};
  }
  Result<void> confirm(std::span<const records::Confirmation>) override { return {}; }

 private:
  Store(std::string folder, records::Database database)
      : folder_(std::move(folder)), database_(std::move(database)) {}
  std::string folder_;
  records::Database database_;
};

class Silent final : public tune::TuneListener {
 public:
  void trial_done(std::size_t, const records::TuningRecord&, const tune::Progress&) override {}
  void tick(const tune::Progress&) override {}
  void warn(const std::string& line) override {
    std::fprintf(stderr, "fettle-bench: %s\n", line.c_str());
  }
};

struct Bench {
  const PipelineBenchOptions& options;
  tune::Runner& runner;
  tune::Builder& builder;
  app::Interrupt& interrupt;
  space::Target target;
};

// Trials of the workload in the order of their completion; near_ns > 0 seeks kernels
// of about that time, else they are drawn at random.
Result<std::vector<Seen>> run_trials(Bench& bench, const space::Workload& workload, unsigned trials,
                                     double near_ns, std::uint64_t first_trial) {
  const auto task = backend::open_task(workload.dag(), bench.target);
  if (!task) return task.error();
  const space::SearchSpace* space = &(*task)->space();
  std::vector<tune::TuneTask> tasks(1);
  tasks[0].task.workload = workload;
  tasks[0].space = space;
  const auto features = [&](const space::Configuration& c) { return (*task)->features(c); };
  tasks[0].searcher = near_ns > 0
                          ? make_near_time_searcher(*space, features, near_ns, bench.options.seed)
                          : tune::make_random(*space, {bench.options.seed});
  Result<std::unique_ptr<Store>> store = Store::make();
  if (!store) return std::move(store).error();
  tune::ExpectedOutputs expected({workload});
  while (!expected.ready(0)) usleep(1000);  // before any device time is counted
  const auto scheduler = tune::make_round_robin();
  Silent listener;
  TimedBuilder builder(bench.builder);
  TimedRunner runner(bench.runner, builder);
  tune::TuneOptions options;
  options.session = "bench";
  options.device_key = bench.runner.device().key;
  options.trials = trials;
  options.first_trial = first_trial;
  const tune::TuneSummary summary =
      tune::tune(tasks, bench.target, options,
                 {builder, runner, **store, expected, *scheduler, bench.interrupt, listener, {}});
  if (summary.end == tune::SessionEnd::Failed) return *summary.error;
  if (summary.end == tune::SessionEnd::Interrupted)
    return Error{ErrorCode::Canceled, "interrupted", {}};
  if (summary.all_failed || !summary.progress.tasks[0].best_nanoseconds) {
    return Error{ErrorCode::Internal,
                 "no trial of " + workload.title() + " gave a time: " + summary.main_cause,
                 {}};
  }
  return runner.seen();
}

// The layer whose kernels take about the wanted time where such kernels are sought:
// first by the rate of kernels drawn at random, then by that of the kernels found.
Result<space::Workload> fitting_layer(Bench& bench, std::uint64_t& next_trial) {
  const double wanted_ms = bench.options.kernel_ms;
  Result<space::Workload> workload = sizing_layer();
  if (!workload) return workload;
  double near_ns = 0;
  unsigned trials = kSizing;
  for (int tried = 0; tried < kLayersTried; ++tried) {
    Result<std::vector<Seen>> seen = run_trials(bench, *workload, trials, near_ns, next_trial);
    if (!seen) return std::move(seen).error().in("finding the layer's size");
    next_trial += trials;
    // By the middling candidate, not the best: most of a session's trials are like it.
    const std::size_t late = std::min<std::size_t>(seen->size(), kSizing);
    const std::vector<Seen> last(seen->end() - static_cast<std::ptrdiff_t>(late), seen->end());
    const double usual_ms = summarise(account(last), 0).kernel_ms_median;
    if (!(usual_ms > 0)) {
      return Error{
          ErrorCode::Internal, "too few trials of " + workload->title() + " gave a time", {}};
    }
    const double operations = workload->operations();
    Result<space::Workload> next = layer_of_operations(operations / usual_ms * wanted_ms);
    if (!next || (near_ns > 0 && next->operations() == operations)) return next;
    workload = std::move(next);
    near_ns = wanted_ms * 1e6;
    trials = kSettling;
  }
  return workload;
}

void print(const PipelineBenchOptions& options, const space::Workload& workload,
           const std::vector<TrialTimes>& trials, const Summary& s, std::size_t builders) {
  if (!options.json) {
    std::printf("%s, kernels of %.2f ms (median), %zu trials, %zu failed, builds of %.0f ms\n",
                workload.title().c_str(), s.kernel_ms_median, s.trials, s.failed,
                s.build_ms_median);
    std::printf("busy share               %.4f where builders kept up, %.4f over all\n",
                s.busy_share, s.busy_share_overall);
    std::printf("supply-limited share     %.4f (%zu builders)\n", s.supply_limited_share, builders);
    std::printf("inside timed kernels     %.4f of all time (%.4f in samples)\n", s.running_share,
                s.sampled_share);
    std::printf("overhead per trial       %.3f ms median, %.3f ms 90th percentile\n",
                s.overhead_ms_median, s.overhead_ms_p90);
    std::printf("of it                    %.3f ms loading, %.3f ms comparing outputs (medians)\n",
                s.load_ms_median, s.check_ms_median);
    std::printf("trials per hour          %.0f\n", s.trials_per_hour);
    return;
  }
  for (const TrialTimes& t : trials) {
    Json line = {
        {"benchmark", "pipeline"},    {"trial", t.trial},         {"kernel_ms", t.kernel_ms},
        {"build_ms", t.build_ms},     {"total_ms", t.total_ms},   {"running_ms", t.running_ms},
        {"sampled_ms", t.sampled_ms}, {"gap_ms", t.gap_ms},       {"load_ms", t.load_ms},
        {"check_ms", t.check_ms},     {"supply_ms", t.supply_ms}, {"overhead_ms", t.overhead_ms()}};
    if (!t.measured) line["failure"] = t.failure;
    std::cout << line.dump() << "\n";
  }
  const Json summary = {{"benchmark", "pipeline"},
                        {"summary", true},
                        {"workload", workload.title()},
                        {"kernel_ms_wanted", options.kernel_ms},
                        {"kernel_ms_median", s.kernel_ms_median},
                        {"builders", builders},
                        {"build_ms_median", s.build_ms_median},
                        {"trials", s.trials},
                        {"failed", s.failed},
                        {"busy_share", s.busy_share},
                        {"busy_share_overall", s.busy_share_overall},
                        {"supply_limited_share", s.supply_limited_share},
                        {"running_share", s.running_share},
                        {"sampled_share", s.sampled_share},
                        {"overhead_ms_median", s.overhead_ms_median},
                        {"overhead_ms_p90", s.overhead_ms_p90},
                        {"load_ms_median", s.load_ms_median},
                        {"check_ms_median", s.check_ms_median},
                        {"trials_per_hour", s.trials_per_hour},
                        {"wall_s", s.wall_s}};
  std::cout << summary.dump() << std::endl;
}

}  // namespace

double least_running_share(double kernel_ms) {
  if (kernel_ms >= 20) return 0.97;
  return kernel_ms >= 1 ? 0.90 : 0;
}

std::string running_share_fault(double kernel_ms, double running_share) {
  const double least = least_running_share(kernel_ms);
  if (running_share >= least) return "";
  return fmt::format(
      "inside timed kernels for {:.4f} of all time, {:.2f} is wanted of kernels of "
      "{:g} ms",
      running_share, least, kernel_ms);
}

Result<void> run_pipeline_bench(const PipelineBenchOptions& options) {
  app::Interrupt interrupt;
  Result<app::Connection> connection =
      app::Connection::open({"", "", "local", "fettle-bench", static_cast<int>(options.threads)});
  if (!connection) return std::move(connection).error();
  const wire::DeviceInfoT& device = connection->runner().device();
  Result<space::Target> target = backend::target_for(device);
  if (!target) return std::move(target).error();
  const std::vector<int> all_cores = app::usable_cores();  // with the device's
  app::pin_process(connection->free_cores());
  fleet::BuildPoolOptions pool;
  pool.argv = {sibling_program("fettle").string(), "build-worker"};
  pool.workers =
      options.builders > 0 ? options.builders : app::builder_count(connection->free_cores());
  pool.cores = connection->free_cores();
  const std::size_t builders = pool.workers;
  Result<std::unique_ptr<fleet::BuildPool>> builder = fleet::BuildPool::start(std::move(pool));
  if (!builder) return std::move(builder).error();
  app::IdleRunner runner(
      connection->runner(),
      app::lends_cores(builder->get(), nullptr, connection->free_cores(), all_cores));
  Bench bench{options, runner, **builder, interrupt, *target};

  std::uint64_t next_trial = 1;
  Result<space::Workload> workload = fitting_layer(bench, next_trial);
  if (!workload) return std::move(workload).error();
  Result<std::vector<Seen>> run =
      run_trials(bench, *workload, kSettling + options.trials, options.kernel_ms * 1e6, next_trial);
  if (!run) return std::move(run).error().in("measuring the pipeline");

  // The last ones count, and one before them: its end is where account() starts.
  // Identical artifacts were never measured, so there may be fewer than asked for.
  const std::size_t all = run->size();
  const std::size_t first = all > options.trials + 1 ? all - options.trials - 1 : 0;
  const std::vector<Seen> counted(run->begin() + static_cast<std::ptrdiff_t>(first), run->end());
  if (counted.size() < 2)
    return Error{ErrorCode::InvalidArgument, "too few trials: give more with --trials", {}};
  const std::chrono::duration<double> wall = counted.back().completed - counted.front().completed;
  const std::vector<TrialTimes> trials = account(counted);
  const Summary summary = summarise(trials, wall.count());
  print(options, *workload, trials, summary, builders);
  if (!options.gate) return {};
  const std::string fault = running_share_fault(options.kernel_ms, summary.running_share);
  if (fault.empty()) return {};
  return Error{ErrorCode::Internal, "the gate stays shut: the device is " + fault, {}};
}

}  // namespace fettle::bench
