// Recording a space (record_space.h).
#include "tests/bench/record_space.h"

#include <chrono>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "host/app/connection.h"
#include "host/app/cores.h"
#include "host/app/interrupt.h"
#include "host/app/record_store.h"
#include "host/backend/backend.h"
#include "host/fleet/build_pool.h"
#include "host/model/task_list.h"
#include "host/records/queries.h"
#include "host/replay/recording.h"
#include "host/tune/tune.h"
#include "tests/bench/agent_process.h"

namespace fettle::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Stops the session when its time is over, or the user interrupts it.
class TimeLimit final : public tune::StopSignal {
 public:
  TimeLimit(app::Interrupt& interrupt, unsigned seconds)
      : interrupt_(interrupt), end_(Clock::now() + std::chrono::seconds(seconds)) {}
  bool requested() const override { return interrupt_.requested() || Clock::now() >= end_; }
  int fd() const override { return interrupt_.fd(); }

 private:
  app::Interrupt& interrupt_;
  Clock::time_point end_;
};

class Quiet final : public tune::TuneListener {
 public:
  void trial_done(std::size_t, const records::TuningRecord&, const tune::Progress&) override {}
  void tick(const tune::Progress&) override {}
  void warn(const std::string& line) override {
    std::fprintf(stderr, "fettle-bench: %s\n", line.c_str());
  }
};

Result<std::vector<replay::Kept>> parse_keep(const std::vector<std::string>& texts) {
  std::vector<replay::Kept> keep;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    const auto value = sign == std::string::npos
                           ? nlohmann::json()
                           : nlohmann::json::parse(text.substr(sign + 1), nullptr, false);
    replay::Kept kept{text.substr(0, sign), 1, {}};
    try {
      if (value.is_number_unsigned()) {
        kept.count = value;
      } else {
        kept.options = value.get<std::vector<std::vector<std::int64_t>>>();
      }
    } catch (const nlohmann::json::exception&) {
      return Error{ErrorCode::InvalidArgument,
                   "--keep wants KNOB=N or KNOB=[[OPTION],…], not \"" + text + "\""};
    }
    keep.push_back(std::move(kept));
  }
  return keep;
}

Result<space::Task> task_of(const RecordSpaceOptions& options) {
  auto list = options.network.ends_with(".json") ? model::load_workload_file(options.network)
                                                 : model::load_network(options.network);
  if (!list) return std::move(list).error();
  if (options.task >= list->tasks.size()) {
    return Error{ErrorCode::InvalidArgument,
                 options.network + " has only " + std::to_string(list->tasks.size()) + " tasks"};
  }
  return list->tasks[options.task];
}

Result<std::vector<records::TuningRecord>> known(const records::Database& database,
                                                 const space::Workload& workload,
                                                 const space::Target& target) {
  records::Filter filter;
  filter.workload = workload.canonical();
  filter.target = target.canonical();
  return records::history(database, filter);
}

tune::TuneOptions tune_options(const space::SearchSpace& space, const std::string& device) {
  tune::TuneOptions options;
  options.session = app::random_session_id();
  options.device_key = device;
  options.trials = static_cast<std::uint32_t>(space.size());
  options.racing = false;
  // Short samples, several of them: the median of quiet ones is what counts.
  options.measure.min_repeat_ms = 2;
  options.measure.repeat = 9;
  options.measure.min_samples = 5;
  options.measure.relative_interval = 0.005;
  return options;
}

Result<void> measure(const RecordSpaceOptions& options, records::Database& database,
                     app::Connection& connection, const space::Target& target,
                     const space::Task& task, const space::SearchSpace& space) {
  app::Interrupt interrupt;
  TimeLimit limit(interrupt, options.seconds);
  app::pin_process(connection.free_cores());
  fleet::BuildPoolOptions pool;
  pool.argv = {sibling_program("fettle").string(), "build-worker"};
  pool.cores = connection.free_cores();
  auto builder = fleet::BuildPool::start(std::move(pool));
  if (!builder) return std::move(builder).error();
  tune::Runner& runner = connection.runner();
  if (auto added = database.register_device(runner.board(), runner.device()); !added) return added;
  auto history = known(database, task.workload, target);
  if (!history) return std::move(history).error();
  std::vector<tune::TuneTask> tasks;
  tasks.push_back(
      {task, &space, tune::make_searcher("grid", space, {}).value(), std::move(*history)});
  tune::ExpectedOutputs expected({task.workload});
  const tune::TuneOptions loop = tune_options(space, runner.device().key);
  app::RecordStore store(database);
  records::Session session;
  session.session = loop.session;
  session.name = "record-space " + options.network;
  session.device_key = loop.device_key;
  session.started_ms = app::unix_ms_now();
  if (auto begun = store.begin(std::move(session)); !begun) return begun;
  const auto scheduler = tune::make_round_robin();
  Quiet listener;
  const tune::TuneSummary summary = tune::tune(
      tasks, target, loop, {**builder, runner, store, expected, *scheduler, limit, listener, {}});
  std::fprintf(stderr, "%u of %u trials in the database\n", summary.progress.trials,
               summary.progress.trials_wanted);
  if (auto ended = store.end(summary); !ended) return ended;
  if (summary.end == tune::SessionEnd::Failed) return *summary.error;
  return {};
}

}  // namespace

Result<void> run_record_space(const RecordSpaceOptions& options) {
  auto task = task_of(options);
  if (!task) return std::move(task).error();
  auto keep = parse_keep(options.keep);
  if (!keep) return std::move(keep).error();
  auto connection = app::Connection::open({"", "", "local", "fettle-bench", 0});
  if (!connection) return std::move(connection).error();
  const wire::DeviceInfoT& device = connection->runner().device();
  auto target = space::target_for(device, 1);
  if (!target) return std::move(target).error();
  const backend::Backend* backend = backend::find_backend(target->backend);
  auto whole = backend->space(task->workload, *target);
  if (!whole) return std::move(whole).error();
  auto space = replay::thin_out(*whole, options.sketch, *keep);
  if (!space) return std::move(space).error();
  std::fprintf(stderr, "%s: %.0f of %.4g configurations\n", task->workload.title().c_str(),
               space->size(), whole->size());
  auto database = records::Database::open(options.db);
  if (!database) return std::move(database).error();
  if (auto done = measure(options, *database, *connection, *target, *task, *space); !done) {
    return done;
  }
  auto records = known(*database, task->workload, *target);
  if (!records) return std::move(records).error();
  auto recording = replay::make_recording(task->workload, *target, std::move(*space), *records);
  if (!recording) return std::move(recording).error();
  recording->device = device.name;
  recording->feature_names = backend->feature_names();
  for (replay::RecordedTrial& trial : recording->trials) {
    // The trial's choices are of the thinned space; the back end knows the whole one.
    auto configuration = whole->parse(recording->space.to_json(trial.configuration));
    if (!configuration) return std::move(configuration).error();
    if (auto features = backend->features(task->workload, *target, *configuration)) {
      trial.features = std::move(*features);
    }
  }
  return replay::write_recording(*recording, options.output);
}

}  // namespace fettle::bench
